import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serviceClient } from '../../src/edge/service-client.ts'
import { answerBytesMax } from '../../src/model/limits.ts'
import type { Answer } from '../../src/model/verdict.ts'
import { ScriptedTime } from '../delivery/support/scripted-time.ts'

const goOn = new AbortController().signal
const nowMs = Date.UTC(2026, 10, 20, 13, 0, 30)
const key = 'a-key/with+signs"and\\more'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

async function clientOf(handler: Handler) {
  const time = new ScriptedTime(nowMs)
  const server = createServer((request, response) => {
    response.sendDate = false
    response.on('error', () => {})
    handler(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const client = serviceClient({ url: `http://127.0.0.1:${port}`, timeoutMs: 600_000, connections: 2, time })
  onTestFinished(async () => {
    await client.close()
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return { client, time, push: () => client.push('{}', key, goOn) }
}

/** A server that answers with these bytes and closes the connection. */
async function rawAnswer(bytes: string): Promise<Answer> {
  const server = createTcpServer(socket => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(bytes))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const client = serviceClient({
    url: `http://127.0.0.1:${port}`,
    timeoutMs: 600_000,
    connections: 1,
    time: new ScriptedTime(nowMs),
  })
  const answer = await client.push('{}', key, goOn)
  await client.close()
  await new Promise(resolve => server.close(resolve))
  return answer
}

describe('the service’s client', () => {
  it('sends the key in the header and the body as it is, and takes no other encoding', async () => {
    const seen: unknown[] = []
    const { client } = await clientOf((request, response) => {
      request.setEncoding('utf8').on('data', body => seen.push(body))
      request.on('end', () => {
        const { authorization, accept } = request.headers
        seen.push(request.method, request.url, authorization, accept)
        seen.push(request.headers['content-type'], request.headers['accept-encoding'])
        response.end('{"success":true}')
      })
    })
    expect(await client.push('{"metrics":[]}', 'secret-key', goOn)).toEqual({
      kind: 'answered',
      status: 200,
      body: { success: true },
    })
    expect(seen).toEqual([
      '{"metrics":[]}',
      'POST',
      '/api/metrics',
      'Bearer secret-key',
      'application/json',
      'application/json',
      'identity',
    ])
  })

  it.each([300, 301, 302, 303, 307, 308])('never follows a %i with the key, to itself or elsewhere', async status => {
    const seen: unknown[] = []
    const elsewhere = createServer((request, response) => {
      seen.push(request.url)
      response.end()
    })
    await new Promise<void>(resolve => elsewhere.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void elsewhere.close())
    const address = elsewhere.address()
    const port = typeof address === 'object' && address ? address.port : 0
    for (const location of [`http://127.0.0.1:${port}/api/metrics`, '/elsewhere']) {
      const { push } = await clientOf((request, response) => {
        if (request.url === '/elsewhere') seen.push(request.url)
        response.writeHead(status, { location }).end()
      })
      expect(await push()).toMatchObject({ kind: 'answered', status })
    }
    expect(seen).toEqual([])
  })

  it('reads an answer as long as it may be, and none that is longer', async () => {
    const text = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2))
    const { client } = await clientOf((request, response) => {
      request.setEncoding('utf8').on('data', (bytes: string) => response.end(text(Number(bytes))))
    })
    const bodyOf = async (bytes: number) => await client.push(String(bytes), key, goOn)
    expect(await bodyOf(answerBytesMax)).toMatchObject({ body: expect.any(String) })
    expect(await bodyOf(answerBytesMax + 1)).toEqual({ kind: 'answered', status: 200, body: undefined })
  })

  it('does not read an endless answer', async () => {
    const { push } = await clientOf((_, response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    })
    expect(await push()).toEqual({ kind: 'answered', status: 200, body: undefined })
  })

  it('gives up on an answer that does not come', async () => {
    const asked = Promise.withResolvers<void>()
    const { push, time } = await clientOf(() => asked.resolve())
    const answer = push()
    await asked.promise
    time.passDeadlines()
    expect(await answer).toMatchObject({ kind: 'unanswered', reason: 'no answer in time' })
  })

  it('gives up on an answer that drips', async () => {
    const { push, time } = await clientOf((_, response) => {
      let drips = 0
      const drip = () => {
        drips += 1
        if (drips === 20) time.passDeadlines()
        if (!response.destroyed) response.write('{"succ', () => setImmediate(drip))
      }
      drip()
    })
    expect(await push()).toMatchObject({ kind: 'unanswered', reason: 'no answer in time' })
  })

  it('knows a status whose body breaks off: only of a 2xx it is not known what was stored', async () => {
    const broken = 'Broken\r\nretry-after: 60\r\ncontent-length: 99\r\n\r\n{"error":"no'
    for (const status of [307, 400, 401, 404, 429, 503]) {
      const answer = await rawAnswer(`HTTP/1.1 ${status} ${broken}`)
      expect(answer).toEqual({ kind: 'answered', status, body: undefined, notBeforeMs: nowMs + 60_000 })
    }
    expect(await rawAnswer(`HTTP/1.1 201 ${broken}`)).toMatchObject({ kind: 'unanswered' })
  })

  it('says what happened when nothing listens or the connection breaks, without an address', async () => {
    const { push } = await clientOf(request => void request.socket.destroy())
    expect(await push()).toMatchObject({
      kind: 'unanswered',
      reason: expect.stringMatching(/, (UND_ERR_SOCKET|ECONN[A-Z]+)$/),
    })
    const { client } = await clientOf(() => {})
    await client.close()
    expect(await client.push('{}', key, goOn)).toMatchObject({ kind: 'unanswered' })
  })

  it('ends at once when it is stopped', async () => {
    const asked = Promise.withResolvers<void>()
    const { client } = await clientOf(() => asked.resolve())
    const stopping = new AbortController()
    const answer = client.push('{}', key, stopping.signal)
    await asked.promise
    stopping.abort(new Error('stopped'))
    expect(await answer).toMatchObject({ kind: 'unanswered' })
  })

  it.each<[string, string, Partial<Extract<Answer, { kind: 'answered' }>> | 'unanswered']>([
    [
      'a body that is shorter than announced',
      'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"success":true}',
      'unanswered',
    ],
    ['a chunk that breaks off', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n40\r\n{"success"', 'unanswered'],
    ['a chunk of no length', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n{"success"', 'unanswered'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 16\r\n\r\n{"success":true}', 'unanswered'],
    ['no HTTP', 'hello, this is no HTTP\r\n\r\n', 'unanswered'],
    ['nothing', '', 'unanswered'],
    ['a body up to the end of the connection', 'HTTP/1.1 200 OK\r\n\r\n{"success":true}', { body: { success: true } }],
    ['a body after which more comes', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{} and more', { body: {} }],
    [
      'an interim answer before it',
      'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}',
      { body: {} },
    ],
    [
      'two unasked 100 Continue before it',
      `${'HTTP/1.1 100 Continue\r\nvia: 1.1 proxy\r\n\r\n'.repeat(2)}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}`,
      { body: {} },
    ],
    ['an unasked 100 Continue alone', 'HTTP/1.1 100 Continue\r\n\r\n', 'unanswered'],
  ])('understands or gives up on %s', async (_, bytes, expected) => {
    const answer = await rawAnswer(bytes)
    if (expected === 'unanswered')
      expect(answer).toMatchObject({ kind: 'unanswered', reason: expect.stringMatching(/^[a-zA-Z ]+, [A-Za-z_]+$/) })
    else expect(answer).toMatchObject({ kind: 'answered', ...expected })
  })

  it('understands a 100 Continue that comes in two pieces, on each request of a connection', async () => {
    const { push } = await clientOf(({ socket }, response) => {
      response.setHeader('connection', 'keep-alive')
      socket.write('HTTP/1.1 100 Con', () => socket.write('tinue\r\n\r\n', () => void response.end('{"success":true}')))
    })
    for (const answer of [await push(), await push()]) expect(answer).toMatchObject({ body: { success: true } })
  })

  it.each<[string, Buffer]>([
    ['gzip', gzipSync('{"success":true}')],
    ['x-gzip', gzipSync('{"success":true}')],
    ['br', brotliCompressSync('{"success":true}')],
    ['Deflate', deflateSync('{"success":true}')],
  ])('unpacks %s, though it asked for none', async (encoding, body) => {
    const headers = { 'content-encoding': encoding }
    const { push } = await clientOf((_request, response) => void response.writeHead(200, headers).end(body))
    expect(await push()).toEqual({ kind: 'answered', status: 200, body: { success: true } })
  })

  it.each<[string, Record<string, string>, string | Buffer, string | undefined]>([
    ['HTML', { 'content-type': 'text/html; charset=utf-8' }, '<!doctype html><p>Welcome</p>', 'text/html'],
    [
      'a page with a title',
      { 'content-type': 'text/html' },
      `<html><head><title lang="en">\n Sign\u001b[31m in ${key}</title>`,
      'text/html, "Sign [31m in [redacted]"',
    ],
    ['half of a JSON text', {}, '{"success":tr', undefined],
    ['nothing', { 'content-type': 'application/json' }, '', undefined],
    [
      'a text that is not gzip',
      { 'content-encoding': 'gzip' },
      '{"success":true}',
      'a body that is not gzip, as its content-encoding says',
    ],
    [
      'an unknown encoding',
      { 'content-encoding': 'zstd' },
      '{"success":true}',
      'a body that is not zstd, as its content-encoding says',
    ],
    ['bytes that are no text', {}, Buffer.from([0xff, 0xfe, 0x00]), undefined],
  ])('takes %s for a body that is not understood, and says what it is', async (_, headers, body, described) => {
    const { push } = await clientOf((_request, response) => void response.writeHead(200, headers).end(body))
    expect(await push()).toEqual({ kind: 'answered', status: 200, body: undefined, ...(described && { described }) })
  })

  it('takes the key out of an answer that repeats it, in whatever way it is written', async () => {
    const spelled = [...key].map(char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
    const bodies = [
      JSON.stringify({ error: `Bearer ${key} is refused` }),
      JSON.stringify({ [key]: { deep: [`a ${key} b`] } }),
      JSON.stringify({ error: key }).replaceAll('/', '\\/'),
      `{"error":"${spelled}"}`,
    ]
    for (const body of bodies) {
      const { push } = await clientOf((_, response) => void response.writeHead(400).end(body))
      const answer = await push()
      expect(JSON.stringify(answer)).toContain('[redacted]')
      expect(JSON.stringify(answer)).not.toContain(JSON.stringify(key).slice(1, -1))
    }
  })

  it.each([
    ['seconds', '60', nowMs + 60_000],
    ['a date', new Date(nowMs + 60_000).toUTCString(), nowMs + 60_000],
    ['a day at most', '999999999', nowMs + 24 * 3_600_000],
    ['no words', 'later', undefined],
  ])('reads Retry-After as %s', async (_, value, notBeforeMs) => {
    const { push } = await clientOf(
      (_request, response) => void response.writeHead(429, { 'retry-after': value }).end(),
    )
    expect(await push()).toEqual({
      kind: 'answered',
      status: 429,
      body: undefined,
      ...(notBeforeMs && { notBeforeMs }),
    })
  })

  it('takes a date of Retry-After for one by the service’s clock', async () => {
    const serviceMs = nowMs - 600_000
    const { push } = await clientOf((_, response) => {
      const headers = {
        date: new Date(serviceMs).toUTCString(),
        'retry-after': new Date(serviceMs + 60_000).toUTCString(),
      }
      response.writeHead(429, headers).end()
    })
    expect(await push()).toMatchObject({ skewMs: -599_001, notBeforeMs: nowMs + 59_001 })
  })

  it.each([
    ['in time', 0, 0],
    ['an hour ahead', 3_600_000, 3_600_000],
    ['an hour behind', -3_600_000, -3_599_001],
  ])('reads the service’s clock: %s', async (_, aheadMs, skewMs) => {
    const { push } = await clientOf((_request, response) => {
      response.writeHead(200, { date: new Date(nowMs + aheadMs).toUTCString() }).end()
    })
    expect(await push()).toEqual({ kind: 'answered', status: 200, body: undefined, skewMs })
  })

  it('asks about a key without a body', async () => {
    const seen: unknown[] = []
    const { client } = await clientOf((request, response) => {
      seen.push(request.method, request.url, request.headers.authorization, request.headers['content-length'])
      response.end('{}')
    })
    expect(await client.validateKey('secret-key')).toMatchObject({ status: 200 })
    expect(seen).toEqual(['GET', '/api/validate-key', 'Bearer secret-key', undefined])
  })

  it('reads a widget, and says why it cannot', async () => {
    const widget = [{ id: 'vault___TVL', value: 1, timestamp: '2026-11-20T13:00:00Z', change1h: null }]
    const { client } = await clientOf((request, response) => {
      if (request.url?.endsWith('page')) {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Sign in</title>')
        return
      }
      const status = request.url?.endsWith('vault') ? 200 : request.url?.endsWith('locked') ? 401 : 404
      response.writeHead(status).end(JSON.stringify(widget))
    })
    expect(await client.widget('vault', 'k')).toEqual(widget)
    await expect(client.widget('locked')).rejects.toThrow('refused the key')
    await expect(client.widget('lost', 'k')).rejects.toThrow('knows no protocol "lost"')
    await expect(client.widget('page', 'k')).rejects.toMatchObject({
      message: expect.stringMatching(
        /gave no widget of "page": .*not answer like the service \(200: text\/html, "Sign in"/,
      ),
      fix: 'check service.url',
    })
  })
})
