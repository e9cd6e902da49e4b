import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { connectionsMax } from '../../../src/edge/open-port.ts'
import { systemTime } from '../../../src/edge/time.ts'
import type { Listening } from '../../../src/edge/web-server.ts'
import { adviseFile } from '../../../src/model/advice.ts'
import { metricId } from '../../../src/model/metric.ts'
import { isHostAllowed } from '../../../src/status/server/guard.ts'
import { type StatusDeps, startStatus } from '../../../src/status/server/server.ts'
import { emptySnapshot, lastHour, nowMs, richSnapshot } from '../../support/snapshot.ts'

let server: Listening | undefined

afterEach(async () => {
  await server?.stop()
  server = undefined
  adviseFile(undefined)
})

async function start(parts: Partial<StatusDeps> = {}): Promise<string> {
  server = await startStatus({
    host: '127.0.0.1',
    port: 0,
    snapshot: () => richSnapshot,
    ready: async () => (await (parts.snapshot ?? (() => richSnapshot))()).ready,
    history: async () => undefined,
    state: async () => 'same',
    exposition: async () => 'tidegauge_ready 1\n',
    time: systemTime,
    ...parts,
  })
  return server.url
}

/** A request with any `Host`, which `fetch` does not allow. */
async function ask(url: string, options: { method?: string; host?: string; headers?: Record<string, string> } = {}) {
  const { method = 'GET', host, headers = {} } = options
  const call = request(url, { method, headers: host === undefined ? headers : { host } }).end()
  const [response] = await once(call, 'response')
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

const lateReady = { ok: false, reasons: ['An hour is late.'], causes: ['not-collected'] } as const

describe('the status server', () => {
  it('is live, whatever the snapshot', async () => {
    const url = await start({ snapshot: () => Promise.reject(new Error('disk')) })
    expect(await ask(`${url}/livez`)).toMatchObject({ status: 200, body: 'live\n' })
  })

  it('is ready with 200, and with 503 says why not', async () => {
    let snapshot = emptySnapshot
    const url = await start({ snapshot: () => snapshot })
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 200, body: '{"ready":true,"reasons":[]}' })
    snapshot = richSnapshot
    const answer = await ask(`${url}/readyz`)
    expect(answer.status).toBe(503)
    expect(JSON.parse(answer.body)).toEqual({ ready: false, reasons: richSnapshot.ready.reasons })
  })

  it.each([
    ['why', undefined, 503, 'The status could not be read: the outbox did not answer.'],
    ['no reason', async () => emptySnapshot.ready, 500, 'the status could not be read'],
    ['another reason', async () => lateReady, 500, 'the status could not be read'],
  ])('does not show what was inside when the snapshot fails, and readiness says %s', async (_, ready, code, words) => {
    const fails = () => Promise.reject(new Error('https://rpc.example.com/key-123'))
    const url = await start({ snapshot: fails, exposition: fails, history: fails, ...(ready && { ready }) })
    for (const path of ['/', '/status.json', '/history/vault___TVL']) {
      const { status, body } = await ask(url + path)
      expect({ path, status }).toEqual({ path, status: code })
      expect(body).toContain(words)
      expect(body).not.toContain('key-123')
    }
    const { status, body } = await ask(`${url}/metrics`)
    const json: unknown = JSON.parse((await ask(`${url}/status.json`)).body)
    if (code === 503) expect(json).toEqual({ ready: { ok: false, reasons: [words], causes: ['outbox-unread'] } })
    if (code === 503)
      expect({ status, body }).toEqual({ status: 200, body: expect.stringMatching(/^tidegauge_ready 0$/m) })
    else expect(status).toBe(500)
  })

  it('is not ready when the snapshot does not come in time', async () => {
    const late = new AbortController()
    const time = { ...systemTime, timeout: () => late.signal }
    const url = await start({
      time,
      snapshot: () => {
        late.abort(new Error('late'))
        return new Promise(() => {})
      },
    })
    expect((await ask(`${url}/readyz`)).status).toBe(503)
  })

  it('gives the page, the snapshot as JSON, and the exposition, each in its own type', async () => {
    const url = await start()
    const [page, json, metrics] = [await ask(`${url}/`), await ask(`${url}/status.json`), await ask(`${url}/metrics`)]
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(page.body).toContain('Awesome Vault')
    expect(json.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(JSON.parse(json.body)).toMatchObject({ now: '2026-11-20T13:04:05.250Z' })
    expect(metrics.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(metrics.body).toBe('tidegauge_ready 1\n')
  })

  it('names the configuration in the commands of the page, of the readiness and of the snapshot', async () => {
    adviseFile('/srv/my "gauge".yaml')
    const reasons = ['The node is down.\nWhy? tidegauge doctor']
    const url = await start({ snapshot: () => ({ ...richSnapshot, ready: { ok: false, reasons } }) })
    const advised = [reasons[0]?.replace('doctor', `doctor --config '/srv/my "gauge".yaml'`)]
    expect(JSON.parse((await ask(`${url}/readyz`)).body).reasons).toEqual(advised)
    expect(JSON.parse((await ask(`${url}/status.json`)).body).ready.reasons).toEqual(advised)
    const { body } = await ask(`${url}/`)
    for (const words of ['dead ls', 'held ls', 'due ls', 'warnings'])
      expect(body).toContain(`<code>tidegauge ${words} --config &#39;/srv/my &#34;gauge&#34;.yaml&#39;</code>`)
    expect(body).toContain('<code>tidegauge warnings ack --config &#39;/srv/my &#34;gauge&#34;.yaml&#39; --all</code>')
  })

  it('gives the history of a metric as a page and as CSV, whatever is in its id', async () => {
    const id = `vault___TVL/${'long'.repeat(50)}"`
    const hours = [{ hour: lastHour, state: 'delivered', value: 5 }] as const
    const history = async (asked: string) =>
      asked === id
        ? { id: metricId('vault', id.slice(8)), label: 'TVL', protocolId: 'vault', collector: 'vault/c', nowMs, hours }
        : undefined
    const url = await start({ history })
    const path = `${url}/history/${encodeURIComponent(id)}`
    const page = await ask(path)
    expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
    expect(page.body).toContain('<h1>TVL</h1>')
    const csv = await ask(`${path}?csv`)
    expect(csv.headers).toMatchObject({ 'content-type': 'text/csv; charset=utf-8' })
    expect(csv.headers['content-disposition']).toMatch(/^attachment; filename="vault___TVL_(long){50}_\.csv"$/)
    expect(csv.body).toBe(
      'hour,value,unit,state,collected,delivered,corrected,before,reason\r\n2026-11-20T13:00:00Z,5,,delivered,,,,,\r\n',
    )
    expect((await ask(`${url}/history/other___TVL`)).status).toBe(404)
    expect((await ask(path, { host: 'rebound.example.com' })).status).toBe(403)
  })

  it('puts its security headers on every answer', async () => {
    const url = await start()
    const answers = [ask(`${url}/`), ask(`${url}/none`), ask(`${url}/`, { method: 'POST' }), ask(url, { host: 'a.b' })]
    for (const { headers } of await Promise.all(answers)) {
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src 'sha256-[\w+/]{43}='; connect-src 'self'; img-src 'self' data:;/,
      )
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    }
  })

  it.each([
    [{ origin: 'https://elsewhere.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }, 403],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }, 403],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }, 200],
    [{ 'sec-fetch-site': 'same-origin', origin: 'https://before.the.proxy' }, 200],
    [{ 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, 200],
  ])('answers pages of its own, links and programs alone: %o', async (headers: Record<string, string>, status) => {
    const url = await start()
    for (const path of ['/', '/metrics', '/status.json', '/%']) {
      const answer = await ask(url + path, { headers })
      expect(answer.status).toBe(path === '/%' && status === 200 ? 400 : status)
    }
    if (status === 403) expect((await ask(`${url}/events`, { headers })).status).toBe(403)
    const own = { origin: url, 'sec-fetch-site': 'same-origin' }
    expect((await ask(`${url}/status.json`, { headers: own })).status).toBe(200)
  })

  it('answers 404 elsewhere, 405 to what is not GET or HEAD, and a HEAD without a body', async () => {
    const url = await start()
    expect((await ask(`${url}/none`)).status).toBe(404)
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']) {
      for (const path of ['/', '/metrics', '/none']) {
        expect(await ask(url + path, { method })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } })
      }
    }
    expect(await ask(`${url}/`, { method: 'HEAD' })).toMatchObject({ status: 200, body: '' })
  })

  it('on loopback refuses the name of another host', async () => {
    const url = await start()
    expect((await ask(`${url}/status.json`, { host: 'rebound.example.com:9464' })).status).toBe(403)
    expect((await ask(`${url}/%`, { host: 'rebound.example.com:9464' })).status).toBe(403)
    expect((await ask(`${url}/status.json`, { host: 'localhost:8080' })).status).toBe(200)
  })

  it('on all addresses answers to the configured names and to IP addresses alone', async () => {
    const port = new URL(await start({ host: '0.0.0.0', hosts: ['tidegauge.internal'] })).port
    const statusOf = async (host: string) => (await ask(`http://127.0.0.1:${port}/status.json`, { host })).status
    expect(await statusOf(`tidegauge.internal:${port}`)).toBe(200)
    expect(await statusOf(`10.1.2.3:${port}`)).toBe(200)
    expect(await statusOf('rebound.example.com')).toBe(403)
  })

  it('survives what is no request', async () => {
    const url = await start()
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.end('GET /%%% HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 [\s\S]*content-security-policy: default-src 'none'/)
    expect((await ask(`${url}/livez`)).status).toBe(200)
  })

  it('says that it cannot listen where another already does', async () => {
    const port = Number(new URL(await start()).port)
    const parts = {
      host: '127.0.0.1',
      port,
      snapshot: () => emptySnapshot,
      ready: () => emptySnapshot.ready,
      history: async () => undefined,
      state: async () => 'same',
      exposition: async () => '',
      time: systemTime,
    }
    const file = emptySnapshot.configuration.file
    await expect(startStatus(parts)).rejects.toMatchObject({
      code: 'address-unusable',
      message: `cannot listen on 127.0.0.1:${port}: another tidegauge listens there, with the configuration ${file}`,
      facts: { setting: 'status.listen' },
      fix: 'stop that one first, or set status.listen to another port',
    })
  })

  it.each(['{}', 'null', 'no JSON', '{"configuration":{"file":"\\u0007"}}'])(
    'says no more of a program that answers %s',
    async answer => {
      const other = createServer((_, response) => response.end(answer))
      await once(other.listen(0, '127.0.0.1'), 'listening')
      onTestFinished(() => void other.close())
      const { port = 0 } = Object(other.address())
      const exposition = async () => ''
      const parts = {
        host: '127.0.0.1',
        port,
        snapshot: () => emptySnapshot,
        ready: () => emptySnapshot.ready,
        history: async () => undefined,
        state: async () => 'same',
        exposition,
      }
      await expect(startStatus({ ...parts, time: systemTime })).rejects.toMatchObject({
        message: `cannot listen on 127.0.0.1:${port}: another program listens there`,
        fix: 'stop that one first, or set status.listen to another port',
      })
    },
  )
})

it.each([
  ['127.0.0.1', [], '127.0.0.1:9464', true],
  ['127.0.0.1', [], 'localhost', true],
  ['127.0.0.1', [], 'LOCALHOST:1', true],
  ['127.0.0.1', [], '[::1]:9464', true],
  ['::1', [], '[::1]:9464', true],
  ['127.0.0.2', [], '127.0.0.2:9464', true],
  ['127.0.0.1', [], '127.0.0.2:9464', false],
  ['localhost', [], 'example.com', false],
  ['127.0.0.1', [], 'localhost.example.com', false],
  ['127.0.0.1', [], 'example.com@localhost', false],
  ['127.0.0.1', [], 'localhost:80:80', false],
  ['127.0.0.1', [], '', false],
  ['127.0.0.1', [], undefined, false],
  ['0.0.0.0', [], 'tidegauge.internal:9464', false],
  ['0.0.0.0', [], '10.1.2.3:9464', true],
  ['0.0.0.0', [], 'localhost:9464', true],
  ['0.0.0.0', ['tidegauge.internal'], 'tidegauge.internal:9464', true],
  ['0.0.0.0', ['tidegauge.internal'], 'Tidegauge.Internal', true],
  ['0.0.0.0', ['tidegauge.internal'], 'localhost:9464', true],
  ['::', ['tidegauge.internal'], '[fd00::7]:9464', true],
  ['0.0.0.0', ['tidegauge.internal'], '10.1.2.3', true],
  ['0.0.0.0', ['tidegauge.internal'], 'a.tidegauge.internal', false],
  ['0.0.0.0', ['tidegauge.internal'], '10.1.2.3.example.com', false],
  ['0.0.0.0', ['tidegauge.internal'], undefined, false],
  ['127.0.0.1', ['tidegauge.internal'], 'tidegauge.internal', true],
  ['127.0.0.1', ['tidegauge.internal'], '10.1.2.3', false],
] as const)('bound to %s for the names %j, Host %s: %s', (host, hosts, header, isAllowed) => {
  expect(isHostAllowed({ host, hosts }, header)).toBe(isAllowed)
})

it('keeps to a number of connections: one more ends the oldest, and is answered', async () => {
  const { hostname, port } = new URL(await start())
  const open = () => connect(Number(port), hostname).on('error', () => {})
  const sockets = Array.from({ length: connectionsMax }, open)
  onTestFinished(() => sockets.forEach(socket => void socket.destroy()))
  await Promise.all(sockets.map(socket => once(socket, 'connect')))
  const further = open()
  further.write('GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
  expect(await text(further)).toContain('live')
  await expect.poll(() => sockets.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length).toBe(1)
})

it('answers one request of a connection at a time, and makes one answer for all who ask at once', async () => {
  let made = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  const snapshot = async () => {
    made += 1
    await promise
    return richSnapshot
  }
  const url = await start({ snapshot })
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  socket.write('GET /status.json HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(50))
  await once(socket.resume(), 'close')
  const all = Array.from({ length: 20 }, () => ask(`${url}/status.json`))
  await expect.poll(() => made).toBe(1)
  await Promise.all(all.map(() => ask(`${url}/livez`)))
  expect(made).toBe(1)
  resolve()
  expect((await Promise.all(all)).map(({ status }) => status)).toEqual(Array(20).fill(200))
})
