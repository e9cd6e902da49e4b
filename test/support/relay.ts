import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A server on loopback. */
interface Target {
  readonly port: number
}

/** An address that stays while what is behind it changes, as that of a load balancer in front of a primary. */
export interface Relay extends Target {
  /** Number of connections that clients have opened. */
  readonly opened: number
  /** Ends all connections; later ones go to another server. */
  switchTo(server: Target): void
  /** Carries nothing more on the connections there are, and tells neither side, as a gateway that has forgotten them. */
  forget(): void
  /** As `forget`, and for later connections, too: they are accepted, and nothing is carried. */
  silence(): void
}

/** Starts a relay to a server; it ends with the test. */
export async function relayTo(first: Target): Promise<Relay> {
  let [{ port: target }, opened, isSilent] = [first, 0, false]
  const open = new Set<Socket>()
  const server = createServer(client => {
    opened += 1
    const behind = connect(target, '127.0.0.1')
    const both = [client, behind]
    for (const socket of both) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        for (const each of both) each.destroy()
      })
    }
    if (!isSilent) client.pipe(behind).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endAll = () => {
    for (const socket of open) socket.destroy()
  }
  onTestFinished(() => {
    endAll()
    server.close()
  })
  const forget = () => {
    for (const socket of open) socket.unpipe()
  }
  return {
    port: (server.address() as AddressInfo).port,
    get opened() {
      return opened
    },
    forget,
    silence() {
      isSilent = true
      forget()
    },
    switchTo(next) {
      target = next.port
      endAll()
    },
  }
}

/** A server that asks for the password as it is; it ends with the test. @returns its port, and what it is sent then */
export async function clearPasswordServer(): Promise<{ readonly port: number; readonly sent: () => string }> {
  let sent = ''
  const server = createServer(socket => {
    socket.once('data', () => {
      socket.write(Uint8Array.of('R'.charCodeAt(0), 0, 0, 0, 8, 0, 0, 0, 3))
      socket.on('data', piece => {
        sent += piece.toString('latin1')
      })
    })
    socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = server.address()
  return { port: typeof address === 'object' && address ? address.port : 0, sent: () => sent }
}
