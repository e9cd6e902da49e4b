import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { type Egress, proxyOf, setEgress } from '../../src/edge/egress.ts'
import { HttpExchange } from '../../src/edge/http-exchange.ts'
import { networkFix, networkReason } from '../../src/edge/network-reason.ts'
import { systemTime } from '../../src/edge/time.ts'
import { Fault } from '../../src/model/fault.ts'
import { certificateFor } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'
import { type ProxyParts, startProxy } from '../support/proxy.ts'

const host = 'metrics.example.test'
const served = certificateFor([host, 'localhost'])
const own = certificateFor(['client'])

afterEach(() => setEgress())

const answer: RequestListener = ({ socket }, response) =>
  response.end(JSON.stringify({ subject: (socket as TLSSocket).getPeerCertificate?.().subject ?? {} }))

/** The port of a server over TLS. */
async function secureServer(options: ServerOptions = {}): Promise<number> {
  const server = createSecureServer({ ...served, ...options }, answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** The result of a request: its status and body, or why there is no answer and what to do. */
async function asked(url: string, egress: Partial<Egress> = {}, certificate?: () => typeof own) {
  setEgress(() => ({ except: [], ...egress }))
  const exchange = new HttpExchange({ url, timeoutMs: 60_000, connections: 1, time: systemTime, certificate })
  try {
    const { status, text } = await exchange.ask({ method: 'GET', path: '/', headers: {}, bytesMax: 1e6 })
    return { status, text }
  } catch (error) {
    return { reason: networkReason(error), fix: networkFix(error) }
  } finally {
    await exchange.close()
  }
}

describe('a proxy', () => {
  it.each([
    ['without a password', undefined, '', undefined],
    ['with a name and a password', 'tide:p@ss word', 'tide:p%40ss%20word@', undefined],
    ['over TLS', undefined, '', served],
  ])('opens the way to a host %s', async (_, credentials, before, certificate) => {
    const port = await secureServer()
    const proxy = await startProxy({
      reaches: { [`${host}:443`]: port },
      ...(credentials && { credentials }),
      ...(certificate && { certificate }),
    })
    const egress = { proxy: proxy.url.replace('://', `://${before}`), authorities: served.cert }
    expect(await asked(`https://${host}`, egress)).toMatchObject({ status: 200 })
    expect(proxy.asked).toEqual([`${host}:443`])
  })

  it('opens the way to an address without TLS, too', async () => {
    const server = createServer(answer).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const proxy = await startProxy({ reaches: { 'node.example.test:8545': (server.address() as AddressInfo).port } })
    expect(await asked('http://node.example.test:8545', { proxy: proxy.url })).toMatchObject({ status: 200 })
  })

  const password = 'hunter2-hunter2'
  it.each<[string, ProxyParts, string, string]>([
    [
      'wants a password',
      { credentials: 'a:b' },
      'asks for a name and a password (407)',
      'write proxy: { env: PROXY_URL }, and http://NAME:PASSWORD@HOST:PORT there',
    ],
    [
      'does not reach the host',
      {},
      `does not reach ${host}:443 (502)`,
      'check that this host runs; a host that needs no proxy belongs under proxy.except',
    ],
    [
      'forbids the host',
      { writes: 'HTTP/1.1 403 Forbidden\r\ncontent-type: text/html\r\n\r\n<html>' },
      `does not let this machine reach ${host}:443 (403)`,
      'ask who runs it; a host that needs no proxy belongs under proxy.except',
    ],
    [
      'is a web server',
      { writes: 'HTTP/1.1 400 Bad Request\r\n\r\n<html>' },
      `answers 400 where a way to ${host}:443 was asked for`,
      'check that the address under proxy: is that of an HTTP proxy',
    ],
    [
      'shows a page to log in',
      { writes: 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<html>Log in</html>' },
      `answers a page of its own where a way to ${host}:443 was asked for`,
      'check that the address under proxy: is that of an HTTP proxy',
    ],
    [
      'speaks another protocol',
      { writes: 'SSH-2.0-OpenSSH_9.2\r\n' },
      'does not answer: its answer is no HTTP, HPE_INVALID_CONSTANT',
      "check the port, and write https:// in the proxy's address if it speaks that",
    ],
    [
      'breaks off',
      { writes: '' },
      'does not answer: it breaks connections off, ECONNRESET',
      'look into the log of the server, or ask who runs it',
    ],
  ])('that %s is named, with what to do', async (_, parts, what, fix) => {
    const proxy = await startProxy(parts)
    expect(await asked(`https://${host}`, { proxy: proxy.url })).toEqual({
      reason: `the proxy 127.0.0.1:${proxy.port} ${what}`,
      fix,
    })
  })

  it('that refuses a password is named without it', async () => {
    const proxy = await startProxy({ credentials: 'a:b' })
    const url = proxy.url.replace('://', `://tide:${password}@`)
    const { reason } = await asked(`https://${host}`, { proxy: url })
    expect(reason).toBe(`the proxy 127.0.0.1:${proxy.port} does not take the name and password it is given (407)`)
  })

  it('that is down is named, with the address to check', async () => {
    const port = await freePort()
    expect(await asked(`https://${host}`, { proxy: `http://127.0.0.1:${port}` })).toEqual({
      reason: `the proxy 127.0.0.1:${port} does not answer: nothing listens there, ECONNREFUSED`,
      fix: "check the proxy's address and its port, and that the server runs",
    })
  })

  it('that looks into TLS is named with the authority that is missing', async () => {
    const port = await secureServer()
    const proxy = await startProxy({ reaches: { [`${host}:443`]: port } })
    expect(await asked(`https://${host}`, { proxy: proxy.url })).toEqual({
      reason: `its certificate is of an unknown authority, DEPTH_ZERO_SELF_SIGNED_CERT, through the proxy 127.0.0.1:${proxy.port}`,
      fix: 'name the file of its authority under ca: if it is your own, or check the address',
    })
  })

  it.each([
    ['localhost', true],
    ['127.0.0.1', true],
    ['::1', true],
    ['node.internal', true],
    ['a.node.internal', true],
    ['NODE.internal', true],
    ['anode.internal', false],
    ['example.com', true],
    ['api.example.com', true],
    ['10.20.0.1', true],
    ['11.20.0.1', false],
    ['fd00::5', true],
    ['192.168.1.7', true],
    ['192.168.1.8', false],
    ['metrics.example.test', false],
  ])('%s is connected to directly: %s', (name, isDirect) => {
    const except = ['node.internal', '*.example.com', '10.0.0.0/8', 'fd00::/8', '192.168.1.7']
    expect(proxyOf(name, { proxy: 'http://proxy:3128', except }) === undefined).toBe(isDirect)
  })
})

describe('certificates', () => {
  it('an authority of one’s own is trusted besides the usual ones', async () => {
    const url = `https://localhost:${await secureServer()}`
    expect(await asked(url)).toMatchObject({ reason: expect.stringContaining('unknown authority') })
    expect(await asked(url, { authorities: own.cert })).toMatchObject({ reason: expect.stringContaining('unknown') })
    expect(await asked(url, { authorities: `${own.cert}${served.cert}` })).toMatchObject({ status: 200 })
  })

  it('a client shows its certificate, and the new one after it was replaced', async () => {
    const other = certificateFor(['other'])
    const port = await secureServer({ ca: [own.cert], requestCert: true, rejectUnauthorized: true })
    const url = `https://localhost:${port}`
    const trusting = { authorities: served.cert }
    const refused = {
      reason: 'it breaks connections off, UND_ERR_SOCKET',
      fix: expect.stringContaining('name a client certificate if it wants one'),
    }
    expect(await asked(url, trusting)).toEqual(refused)
    expect(await asked(url, trusting, () => other)).toEqual(refused)
    expect(await asked(url, trusting, () => own)).toMatchObject({
      status: 200,
      text: expect.stringContaining('client'),
    })
  })

  it('a file that cannot be read is the reason, but for servers of this machine', async () => {
    const unreadable = () => {
      throw new Fault('config', 'the file ca.pem, named by ca, does not exist', { fix: 'put it there' })
    }
    const exchange = new HttpExchange({ url: `https://${host}`, timeoutMs: 60_000, connections: 1, time: systemTime })
    onTestFinished(() => exchange.close())
    setEgress(unreadable)
    const error = await exchange
      .ask({ method: 'GET', path: '/', headers: {}, bytesMax: 9 })
      .catch((one: unknown) => one)
    expect([networkReason(error), networkFix(error)]).toEqual([
      'the file ca.pem, named by ca, does not exist',
      'put it there',
    ])
  })
})
