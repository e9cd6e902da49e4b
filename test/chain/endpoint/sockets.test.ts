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
