import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Certificate } from './certificate.ts'

/** An HTTP proxy that opens ways by CONNECT. */
export interface StartedProxy {
  /** Its address, without a name and a password. */
  readonly url: string
  readonly port: number
  /** The hosts with ports that it was asked for, in order. */
  readonly asked: string[]
}

/** Behaviour of a proxy. */
export interface ProxyParts {
  /** Ports on loopback behind the hosts that it reaches; others are answered with 502. */
  readonly reaches?: Readonly<Record<string, number>>
  /** `NAME:PASSWORD` that it wants. Default: none. */
  readonly credentials?: string
  /** Its status for a way that is open. Default: 200. */
  readonly status?: number
  /** Text that it writes instead of opening a way. */
  readonly writes?: string
  /** Its certificate, if it is asked over TLS. */
  readonly certificate?: Certificate
}

/** Starts a proxy; it ends with the test. */
export async function startProxy({
  reaches = {},
  credentials,
  status = 200,
  writes,
  certificate,
}: ProxyParts): Promise<StartedProxy> {
  const asked: string[] = []
  const open = new Set<Socket>()
  const server: Server = certificate ? createSecureServer(certificate) : createServer()
  server.on('connection', (socket: Socket) => void open.add(socket.on('error', () => {})))
  server.on('connect', ({ url = '', headers }, client: Socket) => {
    client.on('error', () => {})
    asked.push(url)
    const refuse = (head: string) => void client.end(head)
    if (writes !== undefined) return refuse(writes)
    const wanted = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`
    if (headers['proxy-authorization'] !== wanted) return refuse('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    const port = reaches[url]
    if (port === undefined) return refuse('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    const behind = connect(port, '127.0.0.1')
    open.add(behind.on('error', () => client.destroy()))
    client.write(`HTTP/1.1 ${status} Connection established\r\n\r\n`)
    client.pipe(behind).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return { url: `${certificate ? 'https://localhost' : 'http://127.0.0.1'}:${port}`, port, asked }
}
