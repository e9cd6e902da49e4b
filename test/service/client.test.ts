import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serviceClient } from '../../src/service/client.ts'
import { systemTime } from '../../src/time.ts'

const goOn = new AbortController().signal

type Handler = (request: IncomingMessage, response: ServerResponse) => void

async function clientOf(handler: Handler, timeoutMs = 20_000) {
  const server = createServer(handler)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const client = serviceClient({ url: `http://127.0.0.1:${port}`, timeoutMs, connections: 2, time: systemTime })
  onTestFinished(async () => {
    await client.close()
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return client
}

describe('the service’s client', () => {
  it('sends the key in the header and the body as it is', async () => {
    const seen: unknown[] = []
    const client = await clientOf((request, response) => {
      request.setEncoding('utf8').on('data', body => seen.push(body))
      request.on('end', () => {
        seen.push(request.method, request.url, request.headers.authorization, request.headers['content-type'])
        response.end('{"success":true}')
      })
    })
    expect(await client.push('{"metrics":[]}', 'secret-key', goOn)).toEqual({
      kind: 'answered',
      status: 200,
      body: { success: true },
    })
    expect(seen).toEqual(['{"metrics":[]}', 'POST', '/api/metrics', 'Bearer secret-key', 'application/json'])
  })

  it('never follows a redirect with the key', async () => {
    let calls = 0
    const client = await clientOf((_, response) => {
      calls += 1
      response.writeHead(307, { location: '/elsewhere' }).end()
    })
    expect(await client.push('{}', 'k', goOn)).toMatchObject({ kind: 'answered', status: 307 })
    expect(calls).toBe(1)
  })

  it('does not read an endless answer', async () => {
    const client = await clientOf((_, response) => {
      response.on('error', () => {})
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    })
    expect(await client.push('{}', 'k', goOn)).toMatchObject({ kind: 'answered', status: 200, body: undefined })
  })

  it('gives up on an answer that does not come, also in the middle of it', async () => {
    const silent = await clientOf(() => {}, 50)
    expect(await silent.push('{}', 'k', goOn)).toEqual({ kind: 'unanswered', reason: 'no answer in time' })
    const dripping = await clientOf((_, response) => void response.write('{"succ'), 50)
    expect(await dripping.push('{}', 'k', goOn)).toEqual({ kind: 'unanswered', reason: 'no answer in time' })
  })

  it('says what happened when nobody listens or the connection breaks, without an address', async () => {
    const broken = await clientOf(request => void request.socket.destroy())
    expect(await broken.push('{}', 'k', goOn)).toMatchObject({
      kind: 'unanswered',
      reason: expect.stringMatching(/^no answer \(/),
    })
  })

  it('reads Retry-After', async () => {
    const client = await clientOf((_, response) => void response.writeHead(429, { 'retry-after': '60' }).end())
    const answer = await client.push('{}', 'k', goOn)
    expect(answer).toMatchObject({ status: 429, notBeforeMs: expect.any(Number) })
  })

  it('reads a widget, and says why it cannot', async () => {
    const widget = [{ id: 'vault___TVL', value: 1, timestamp: '2026-11-20T13:00:00Z', change1h: null }]
    const client = await clientOf((request, response) => {
      const status = request.url?.endsWith('vault') ? 200 : request.url?.endsWith('locked') ? 401 : 404
      response.writeHead(status).end(JSON.stringify(widget))
    })
    expect(await client.widget('vault', 'k')).toEqual(widget)
    await expect(client.widget('locked')).rejects.toThrow('refused the key')
    await expect(client.widget('lost', 'k')).rejects.toThrow('knows no protocol "lost"')
  })
})
