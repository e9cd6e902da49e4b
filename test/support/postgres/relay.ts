import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { PostgresServer } from './server.ts'

/** An address that stays while the server behind it changes, as that of a load balancer in front of a primary. */
export interface Relay {
  /** Port on loopback. */
  readonly port: number
  /** Ends all connections; later ones go to another server. */
  switchTo(server: PostgresServer): void
}

/** Starts a relay to a server; it ends with the test. */
export async function relayTo(first: PostgresServer): Promise<Relay> {
  let { port: target } = first
  const open = new Set<Socket>()
  const server = createServer(client => {
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
    client.pipe(behind).pipe(client)
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
  return {
    port: (server.address() as AddressInfo).port,
    switchTo(next) {
      target = next.port
      endAll()
    },
  }
}
