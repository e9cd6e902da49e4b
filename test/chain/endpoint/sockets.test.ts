import { createHash } from 'node:crypto'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../../src/edge/time.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { faultOf, firstHour, openReader, patient } from '../support/readers.ts'

/** The path of an IPC socket on which the server listens until the test ends. */
async function listening(server: Server): Promise<string> {
  const path = join(temporaryFolder(), 'node.ipc')
  await new Promise<void>(resolve => server.listen(path, resolve))
  onTestFinished(() => void server.close())
  return path
}

it('calls on a socket that closes fail at once, and the next one connects again', async () => {
  let connections = 0
  const closing = createServer((socket: Socket) => {
    connections++
    socket.once('data', () => socket.destroy())
  })
  const file = await listening(closing)
  const reader = openReader([file])
  for (const count of [1, 2]) {
    const fault = await faultOf(reader.block(firstHour, patient))
    expect(fault.message).toContain('closed the connection')
    expect(connections).toBe(count)
  }
})

it('garbage on a socket is passed over until the answer', async () => {
  const talking = createServer((socket: Socket) => {
    socket.once('data', () => socket.write('{oops} [1,2] {"method":"eth_subscription"} '))
    socket.on('error', () => {})
  })
  const file = await listening(talking)
  const timeout = new AbortController()
  const time = { ...systemTime, timeout: () => timeout.signal }
  const work = faultOf(openReader([file], { time }).block(firstHour, patient))
  await new Promise<void>(resolve => talking.once('connection', socket => socket.once('data', () => resolve())))
  timeout.abort()
  expect((await work).message).toContain('did not answer within 15 s')
})

it('an answer on a socket without an end is cut off', async () => {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()
  const endless = createServer((socket: Socket) => {
    const part = 'x'.repeat(4_194_304)
    socket.on('error', () => {})
    socket.on('close', () => close())
    socket.once('data', () => {
      const more = () => void socket.write(part, error => error ?? more())
      socket.write('{"id":1,"result":"', more)
    })
  })
  const file = await listening(endless)
  const fault = await faultOf(openReader([file]).block(firstHour, patient))
  expect(fault.message).toBe('ethereum: node.ipc answered too much')
  await closed
})

it('a message of a WebSocket that is too long is not read', async () => {
  const server = createHttpServer()
  server.on('upgrade', ({ headers }, socket: Socket) => {
    const accept = createHash('sha1').update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    const switches = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
    socket.write([...switches, `Sec-WebSocket-Accept: ${accept.digest('base64')}`, '', ''].join('\r\n'))
    socket.on('error', () => {})
    // Only the head of a text of 40 MB: without the limit its rest is waited for.
    socket.once('data', () => socket.write(Buffer.from([0x81, 127, 0, 0, 0, 0, 0x02, 0x62, 0x5a, 0, 0x7b])))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const fault = await faultOf(openReader([`ws://127.0.0.1:${port}`]).block(firstHour, patient))
  expect(fault.message).toContain('closed the connection')
})

it('a message of a socket that nests without end fails the calls at once', async () => {
  const nesting = createServer((socket: Socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.write(`{"id":1,"result":${'['.repeat(5_000)}${']'.repeat(5_000)}}`))
  })
  const fault = await faultOf(openReader([await listening(nesting)]).block(firstHour, patient))
  expect(fault.message).toContain('answered too much')
})
