import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { writtenCall } from '../../../src/chain/endpoint/rpc.ts'
import { type PipeEvents, SocketWire } from '../../../src/chain/endpoint/sockets.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { echoes, failureOf, never, open, results } from '../support/endpoints.ts'

/** A frozen server: it takes connections, and what comes on them meets silence. */
interface Frozen {
  readonly url: string
  /** The next connection. */
  readonly connected: Promise<Socket>
}

/** Behaviour of a server on its connections. */
type Greeting = (socket: Socket) => void

/** Agrees to be a WebSocket, and does nothing after: it never answers the closing handshake either. */
const upgrading: Greeting = socket => {
  socket.once('data', request => {
    const key = /sec-websocket-key: (\S+)/i.exec(String(request))?.[1]
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
    const lines = ['HTTP/1.1 101 Switching Protocols', 'upgrade: websocket', 'connection: upgrade']
    socket.write(`${[...lines, `sec-websocket-accept: ${accept}`].join('\r\n')}\r\n\r\n`)
    socket.on('data', () => socket.emit('asked'))
  })
}

/** Reads and says nothing: over `ws`, the connection is never open. */
const silent: Greeting = socket => {
  socket.on('data', () => socket.emit('asked'))
}

async function frozen(scheme: 'ws' | 'wss' | 'ipc', greet: Greeting): Promise<Frozen> {
  const { promise: connected, resolve } = Promise.withResolvers<Socket>()
  const server = createServer(socket => {
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
    greet(socket)
    resolve(socket)
  })
  onTestFinished(() => void server.close())
  return { url: await addressOf(server, scheme), connected }
}

async function addressOf(server: Server, scheme: 'ws' | 'wss' | 'ipc'): Promise<string> {
  const path = join(temporaryFolder(), 'node.ipc')
  if (scheme === 'ipc') server.listen(path)
  else server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return typeof address === 'object' && address ? `${scheme}://127.0.0.1:${address.port}/` : path
}

const servers: readonly [name: string, scheme: 'ws' | 'wss' | 'ipc', greet: Greeting][] = [
  ['a WebSocket', 'ws', upgrading],
  ['a WebSocket that is still being opened', 'ws', silent],
  ['a WebSocket whose encryption is still being agreed on', 'wss', silent],
  ['an IPC socket', 'ipc', silent],
]

describe('closing', () => {
  it.each(servers)('%s ends the connection although the node is frozen', async (_, scheme, greet) => {
    const node = await frozen(scheme, greet)
    const endpoint = open(node.url)
    const failure = failureOf(endpoint.call(echoes(1), never))
    const socket = await node.connected
    await once(socket, 'asked')
    const gone = once(socket, 'close')
    endpoint.close()
    expect((await failure).message).toContain('was closed')
    await gone
  })

  it.each(servers)('%s lets the process end although the node is frozen', async (_, scheme, greet) => {
    const node = await frozen(scheme, greet)
    const child = asking(node.url)
    const socket = await node.connected
    await once(socket, 'asked')
    child.stdin?.write('close\n')
    const [code, signal] = await once(child, 'exit')
    expect([code, signal]).toEqual([0, null])
  })

  it('a connection and asking again opens another one', async () => {
    let connections = 0
    const node = await frozen('ipc', socket => {
      if (++connections === 1) return silent(socket)
      socket.on('data', text => {
        for (const line of String(text).trim().split('\n')) {
          const { id, method, params } = JSON.parse(line)
          socket.write(JSON.stringify({ id, result: method === 'eth_chainId' ? '0x1' : params[0] }))
        }
      })
    })
    const endpoint = open(node.url)
    const failure = failureOf(endpoint.call(echoes(1), never))
    await once(await node.connected, 'asked')
    endpoint.close()
    // In the same turn, so that the first connection ends when the second already exists.
    const again = endpoint.call(echoes(1), never)
    await failure
    expect(results(await again)).toEqual([0])
  })
})

it('what a connection says that was given up does not end the one after it', async () => {
  const opened: PipeEvents[] = []
  const asked = Promise.withResolvers<void>()
  const wire = new SocketWire('node.test', async events => {
    const isFirst = opened.push(events) === 1
    const answer = (text: string) => {
      opened[0]?.onClosed('closed late')
      events.text(JSON.stringify({ id: JSON.parse(text).id, result: 7 }))
    }
    return { send: isFirst ? () => asked.resolve() : answer }
  })
  const call = writtenCall({ method: 'echo', params: [] })
  const first = failureOf(wire.send([call], never))
  await asked.promise
  wire.close()
  expect((await first).message).toContain('was closed')
  expect(await wire.send([call], never)).toEqual([{ kind: 'result', result: 7 }])
})

/** A process of its own that asks an endpoint, closes it on demand, and has nothing else to do then. */
function asking(url: string): ChildProcess {
  const source = new URL('../../../src/', import.meta.url).href
  const code = `
    const { openEndpoint } = await import(${JSON.stringify(`${source}chain/endpoint/endpoint.ts`)})
    const { systemTime } = await import(${JSON.stringify(`${source}edge/time.ts`)})
    const endpoint = openEndpoint({ url: ${JSON.stringify(url)} }, { chainId: 1, isOnlyOne: true, time: systemTime })
    endpoint.call([{ method: 'eth_blockNumber', params: [] }], new AbortController().signal).catch(() => {})
    process.stdin.once('data', () => { process.stdin.destroy(); endpoint.close() })
  `
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}
