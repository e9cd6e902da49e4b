import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { setEgress } from '../../src/edge/egress.ts'
import { certificateFor } from '../support/certificate.ts'
import { command } from '../support/command.ts'
import { type StartedProxy, startProxy } from '../support/proxy.ts'
import { configured } from '../support/tidegauge.ts'

afterEach(() => setEgress())

const key = 'a-key-that-nobody-may-see'
const password = 'pass-word-of-the-proxy'
const gatewayKey = 'a-key-of-the-gateway'
const served = certificateFor(['metrics.example.test', 'api.example.test', 'checks.example.test'])
const own = certificateFor(['tides'])

/** One request that came through the proxy. */
interface Came {
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** The client's name, by its certificate. */
  readonly client: string | undefined
}

/** The service, a source and a check: one server over TLS, to which only the proxy leads. */
async function stage() {
  const came: Came[] = []
  const server = createServer(
    { ...served, ca: [own.cert], requestCert: true, rejectUnauthorized: false },
    async (request, response) => {
      const { url = '', headers, socket } = request
      const client = (socket as TLSSocket).getPeerCertificate().subject?.CN
      came.push({ url: `${headers.host}${url}`, headers, client: client as string | undefined })
      const body = await text(request)
      if (url.startsWith('/api/metrics')) {
        const processed = JSON.parse(body).metrics.length
        return void response.end(JSON.stringify({ success: true, processed, errors: [], warnings: [] }))
      }
      response.setHeader('content-type', 'application/json')
      response.end(url.startsWith('/price') ? '{ "usd": 42 }' : url.startsWith('/metrics') ? '[]' : '{ "valid": true }')
    },
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const reaches = Object.fromEntries(['metrics', 'api', 'checks'].map(name => [`${name}.example.test:443`, port]))
  const proxy = await startProxy({ reaches, credentials: `tides:${password}` })
  return { came, proxy }
}

const yaml = `service:
  url: https://metrics.example.test
  key: { env: METRICS_KEY }
  headers: { x-tenant: tides, x-gateway-key: { env: GATEWAY_KEY } }
  certificate: { cert: ./client.crt, key: { file: ./client.key } }
proxy: { env: PROXY_URL }
ca: ./ca.pem
status: { listen: "127.0.0.1:0" }
heartbeat: { url: { env: HEARTBEAT_URL } }
protocols:
  - id: tide
    name: Tide
    collectors:
      - use: http-json
        options: { url: "https://api.example.test/price", values: { Price: { pointer: /usd, unit: USD } } }
`

/** A configuration and its environment. @param files replace those next to it */
function settings({ url }: StartedProxy, files: Readonly<Record<string, string>> = {}) {
  const { config } = configured(yaml, {
    'ca.pem': served.cert,
    'client.crt': own.cert,
    'client.key': own.key,
    ...files,
  })
  const env = {
    METRICS_KEY: key,
    GATEWAY_KEY: gatewayKey,
    HEARTBEAT_URL: 'https://checks.example.test/ping/4711',
    PROXY_URL: url.replace('://', `://tides:${password}@`),
  }
  return { config, env }
}

/** Fails where an output holds a secret. */
function requireNoSecret({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }): void {
  for (const secret of [key, password, gatewayKey, 'PRIVATE KEY']) expect(stdout + stderr).not.toContain(secret)
}

const lines = (stdout: string, about: RegExp) => stdout.split('\n').filter(line => about.test(line))

describe('behind a proxy', () => {
  it('all is collected and delivered through it, with the certificate and the headers', async () => {
    const { came, proxy } = await stage()
    const { config, env } = settings(proxy)
    const ended = await command(['collect', '--config', config], env)
    expect(ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('fault') })
    requireNoSecret(ended)
    expect(ended.stdout).toContain('tide___Price')
    const push = came.find(({ url }) => url === 'metrics.example.test/api/metrics')
    expect(push).toMatchObject({
      client: 'tides',
      headers: { 'x-tenant': 'tides', 'x-gateway-key': gatewayKey, authorization: `Bearer ${key}` },
    })
    // Neither goes to a source.
    const source = came.find(({ url }) => url === 'api.example.test/price')
    expect(source?.client).toBeUndefined()
    expect(source?.headers).not.toHaveProperty('x-gateway-key')
    expect([...new Set(proxy.asked)].sort()).toEqual(['api.example.test:443', 'metrics.example.test:443'])
  })

  it('doctor says what is used, and what cannot be checked', async () => {
    const { proxy } = await stage()
    const { config, env } = settings(proxy)
    const ended = await command(['doctor', '--config', config], env)
    requireNoSecret(ended)
    expect(lines(ended.stdout, /^. (proxy|ca|certificate|headers|service|key|source|heartbeat)/)).toEqual([
      `✔ proxy: 127.0.0.1:${proxy.port} is used for all but this machine; whether a redirect of a source leads into a private network is for the proxy to check`,
      expect.stringMatching(/^✔ ca: .*ca\.pem holds an authority, and ends in \d+ days, on 2120-01-01$/),
      expect.stringMatching(/^✔ certificate: .*client\.crt fits its key, and ends in \d+ days, on 2120-01-01$/),
      '✔ headers: the service is sent x-tenant, x-gateway-key',
      '✔ service: metrics.example.test answers',
      '✔ key: the service accepts the key',
      '✔ source api.example.test: answers tide/http-json',
      '✔ heartbeat: checks.example.test answers; the next hour is reported to it',
    ])
  })

  it('a proxy that takes another password by now is named, by all that need it, without it', async () => {
    const { proxy } = await stage()
    const { config, env } = settings(proxy)
    const old = { ...env, PROXY_URL: env.PROXY_URL.replace(password, 'an-old-pass-word') }
    const ended = await command(['doctor', '--config', config], old)
    const named = `the proxy 127.0.0.1:${proxy.port} does not take the name and password it is given (407)`
    expect(lines(ended.stdout, /^. (service|source|heartbeat)/)).toEqual([
      expect.stringContaining(
        `✖ service: metrics.example.test does not answer: ${named} → put the right ones where proxy: keeps its address`,
      ),
      expect.stringContaining(named),
      expect.stringContaining(`! heartbeat: checks.example.test does not answer: ${named}`),
    ])
    expect(ended.stdout + ended.stderr).not.toContain('an-old-pass-word')
  })

  it.each([
    [
      'is down',
      { PROXY_URL: 'http://127.0.0.1:9' },
      "the proxy 127.0.0.1:9 does not answer: nothing listens there, ECONNREFUSED → check the proxy's address and its port, and that the server runs",
    ],
    [
      'is not known',
      { PROXY_URL: '' },
      'the address of the proxy: the variable PROXY_URL is empty → put the secret there, and nothing else',
    ],
    [
      'is of another kind',
      { PROXY_URL: `socks5://tides:${password}@127.0.0.1:1` },
      'the secret is not the address of a proxy: a SOCKS proxy is not used here, an HTTP proxy is → write it like http://proxy.example.com:3128',
    ],
  ])('a proxy that %s is the reason, with what to do', async (_, changed, reason) => {
    const { proxy } = await stage()
    const { config, env } = settings(proxy)
    const doctor = await command(['doctor', '--config', config], { ...env, ...changed })
    requireNoSecret(doctor)
    expect(lines(doctor.stdout, /^. service/)).toEqual([`✖ service: metrics.example.test does not answer: ${reason}`])
    expect(doctor.code).toBe(1)
  })

  it('HTTPS_PROXY alone is not used, and doctor says so', async () => {
    const { proxy, came } = await stage()
    const { config } = configured('service: embedded\nprotocols: [{ id: a, name: A, collectors: [{ use: host }] }]\n')
    const { stdout } = await command(['doctor', '--config', config], { HTTPS_PROXY: proxy.url })
    expect(lines(stdout, /proxy/)).toEqual([
      '✔ proxy: HTTPS_PROXY is set here and not used; proxy: { env: HTTPS_PROXY } would use it',
    ])
    expect([proxy.asked, came]).toEqual([[], []])
  })
})

const ended = certificateFor(['tides'], new Date(Date.now() - 5.5 * 86_400_000))

describe('a client certificate', () => {
  it('that is replaced counts for the next connection, without a restart', async () => {
    const { came, proxy } = await stage()
    const { config, env } = settings(proxy, { 'client.crt': ended.cert })
    const doctor = await command(['doctor', '--config', config], env)
    requireNoSecret(doctor)
    expect(lines(doctor.stdout, /^. certificate/)).toHaveLength(1)
    expect(lines(doctor.stdout, /^. service/).join()).toMatch(
      /^✖ service: .* does not answer: the key of service\.certificate is not that of the certificate/,
    )
    writeFileSync(join(dirname(config), 'new.crt'), own.cert)
    renameSync(join(dirname(config), 'new.crt'), join(dirname(config), 'client.crt'))
    await command(['doctor', '--config', config], env)
    expect(came.some(({ client }) => client === 'tides')).toBe(true)
  })
})
