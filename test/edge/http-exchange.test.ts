import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { HttpExchange } from '../../src/edge/http-exchange.ts'
import { networkFix, networkReason } from '../../src/edge/network-reason.ts'
import { systemTime } from '../../src/edge/time.ts'
import { certificateFor } from '../support/certificate.ts'

async function exchangeWith(handle: RequestListener, stack: AsyncDisposableStack): Promise<HttpExchange> {
  const server = stack.use(createServer(handle).listen(0, '127.0.0.1'))
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const exchange = new HttpExchange({ url, connections: 2, oneAtATimeBytes: 1_000, time: systemTime })
  stack.defer(() => exchange.close())
  return exchange
}

it.each([
  ['nginx', '<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>'],
  ['Go', 'Client sent an HTTP request to an HTTPS server.\n'],
  ['Apache', "Reason: You're speaking plain HTTP to an SSL-enabled server port."],
  ['Tomcat', 'Bad Request\nThis combination of host and port requires TLS.\n'],
])('takes it from the words of %s that it speaks TLS', async (_, words) => {
  await using stack = new AsyncDisposableStack()
  const exchange = await exchangeWith((_, response) => response.writeHead(400).end(words), stack)
  const error = await exchange.ask(asked('/')).catch(thrown => thrown)
  expect([networkReason(error), networkFix(error)]).toEqual([
    'it speaks TLS here, TLS_WANTED',
    'write https:// in the address',
  ])
})

it('does not take it from JSON, which may repeat the words of a metric', async () => {
  await using stack = new AsyncDisposableStack()
  const words = '{"error":"metric \\"an HTTPS port\\" is refused"}'
  const exchange = await exchangeWith((_, response) => response.writeHead(400).end(words), stack)
  expect(await exchange.ask(asked('/'))).toMatchObject({ status: 400, text: words })
})

it('asks whether a server speaks TLS that closes a plain connection at once', async () => {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(createTlsServer(certificateFor(['localhost'])).listen(0, '127.0.0.1'))
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const exchange = new HttpExchange({ url, connections: 1, time: systemTime })
  stack.defer(() => exchange.close())
  const error = await exchange.ask(asked('/')).catch(thrown => thrown)
  expect(networkFix(error)).toContain('write https:// in the address if it speaks TLS')
})

const asked = (path: string, bytesMax = 1e6) => ({ method: 'GET', path, headers: {}, bytesMax }) as const

it('reads long answers one at a time', async () => {
  await using stack = new AsyncDisposableStack()
  const begun = Promise.withResolvers<ServerResponse>()
  const long = 'ab'.repeat(50_000)
  const exchange = await exchangeWith(({ url }, response) => {
    response.write(long)
    if (url === '/first') return begun.resolve(response)
    // The first one ends when the second is sent as a whole.
    response.end()
    response.on('finish', async () => (await begun.promise).end())
  }, stack)
  const ended: string[] = []
  const ask = async (path: string) => {
    expect((await exchange.ask(asked(path))).text).toBe(long)
    ended.push(path)
  }
  const first = ask('/first')
  await begun.promise
  await Promise.all([first, ask('/second')])
  expect(ended).toEqual(['/first', '/second'])
})

it.each([
  ['many small pieces, cut within a character', 1e6, { text: '☃é'.repeat(2_000) }],
  ['a body that is too long', 3_000, { text: undefined, unread: 'too-long' }],
])('reads %s', async (_, bytesMax, expected) => {
  await using stack = new AsyncDisposableStack()
  const exchange = await exchangeWith((_, response) => {
    for (const byte of Buffer.from('☃é'.repeat(2_000))) response.write(Buffer.of(byte))
    response.end()
  }, stack)
  expect(await exchange.ask(asked('/', bytesMax))).toMatchObject({ status: 200, ...expected })
})
