import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { Fault } from '../../../src/model/fault.ts'
import { echo, failureOf, never, open, results } from '../support/endpoints.ts'

/** A node that wants a token, and repeats the one it is given when it refuses. */
async function guarded(token: string) {
  const seen: IncomingHttpHeaders[] = []
  const server = createServer(async (request, response) => {
    seen.push(request.headers)
    const chunks = await request.toArray()
    const body = Buffer.concat(chunks).toString()
    const calls = [JSON.parse(body)].flat() as { id: number; method: string; params: unknown[] }[]
    const answers = calls.map(({ id, method, params }) => ({
      id,
      result: method === 'eth_chainId' ? '0x1' : params[0],
    }))
    if (request.headers.authorization !== `Bearer ${token}`) {
      const error = { code: -32000, message: `not authorized: ${request.headers.authorization}` }
      response.end(JSON.stringify(calls.map(({ id }) => ({ id, error }))))
      return
    }
    response.end(JSON.stringify(answers.length === 1 ? answers[0] : answers))
  })
  server.on('upgrade', ({ headers }, socket) => {
    seen.push(headers)
    socket.end('HTTP/1.1 401 no\r\n\r\n')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  return { seen, host: `127.0.0.1:${port}` }
}

it('headers go with each request as they are then', async () => {
  const { seen, host } = await guarded('second-token-0002')
  const token = { now: 'first-token-0001' }
  const endpoint = open(`http://${host}`, {
    headers: () => ({ authorization: `Bearer ${token.now}`, 'x-team': 'tides' }),
  })
  await failureOf(endpoint.call([echo(1)], never))
  token.now = 'second-token-0002'
  expect(results(await endpoint.call([echo(1)], never))).toEqual([1])
  expect(seen.map(({ authorization }) => authorization)).toEqual([
    // Both calls of the first request are refused alike: one of them is asked alone.
    'Bearer first-token-0001',
    'Bearer first-token-0001',
    'Bearer second-token-0002',
  ])
  expect(seen.at(-1)).toMatchObject({ 'x-team': 'tides', 'content-type': 'application/json' })
})

it('what a node repeats of them is not repeated', async () => {
  const { host } = await guarded('other')
  const endpoint = open(`http://${host}`, { headers: () => ({ authorization: 'Bearer hunter2-hunter2' }) })
  const failure = await failureOf(endpoint.call([echo(1)], never))
  expect(failure.message).toContain('not authorized: (redacted)')
  expect(failure.stack).not.toContain('hunter2')
})

it('a WebSocket is opened with them', async () => {
  const { seen, host } = await guarded('other')
  const endpoint = open(`ws://${host}`, { headers: () => ({ authorization: 'Bearer socket-token' }) })
  await failureOf(endpoint.call([echo(1)], never))
  expect(seen[0]).toMatchObject({ authorization: 'Bearer socket-token', upgrade: 'websocket' })
})

it('one that cannot be read any more is the failure of that node, by its reason', async () => {
  const { seen, host } = await guarded('other')
  const headers = () => {
    throw new Fault('secret-missing', 'header authorization: the variable is not set')
  }
  const failure = await failureOf(open(`http://${host}`, { headers }).call([echo(1)], never))
  expect(failure.message).toBe(`${host} cannot be asked: header authorization: the variable is not set`)
  expect(seen).toEqual([])
})
