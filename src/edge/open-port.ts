import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** Interval at which Node checks for slow connections; its default is 30 s. */
export const slowLookMs = 5_000

/** Connections to one server at a time: each takes a descriptor, which the outbox and the nodes need, too. */
export const connectionsMax = 128

/** Keeps a server to `connectionsMax`. One more ends the oldest: who opens many, and asks nothing, keeps out no probe. */
export function boundConnections(server: Server): void {
  const openSockets = new Set<Socket>()
  server.on('connection', socket => {
    openSockets.add(socket)
    socket.once('close', () => openSockets.delete(socket))
    const [oldestSocket] = openSockets
    if (openSockets.size <= connectionsMax || !oldestSocket) return
    openSockets.delete(oldestSocket)
    oldestSocket.destroy()
  })
}

/**
 * Ends a connection that asks again before it has its answer: no browser and no scraper does, and what is not read is not made.
 * This is found before a framework makes anything of a request, as thousands may come at once.
 */
export function oneAtATime(handle: RequestListener): RequestListener {
  const busySockets = new WeakSet<Socket>()
  return (request, response) => {
    const { socket } = request
    if (busySockets.has(socket)) {
      socket.destroy()
      return
    }
    busySockets.add(socket)
    response.once('close', () => busySockets.delete(socket))
    handle(request, response)
  }
}

/** Address of a port and its limits for slow readers, in milliseconds. */
interface PortOptions {
  readonly host: string
  /** 0: the system picks one. */
  readonly port: number
  readonly headersMsMax: number
  readonly requestMsMax: number
}

/** A port that is open before the server that will answer there is loaded: its requests go to one handler at a time. */
export class OpenPort {
  readonly server: Server
  #handle: RequestListener

  private constructor(options: PortOptions, handle: RequestListener) {
    this.#handle = handle
    const { headersMsMax: headersTimeout, requestMsMax: requestTimeout } = options
    const limits = { headersTimeout, requestTimeout, connectionsCheckingInterval: slowLookMs }
    this.server = createServer(
      limits,
      oneAtATime((request, response) => this.#handle(request, response)),
    )
    boundConnections(this.server)
  }

  /** Rejects with the system's error when it cannot listen there. */
  static async open(options: PortOptions, handle: RequestListener): Promise<OpenPort> {
    const port = new OpenPort(options, handle)
    await new Promise<void>((resolve, reject) => {
      port.server.once('error', reject).listen(options.port, options.host, () => {
        port.server.off('error', reject)
        resolve()
      })
    })
    return port
  }

  /** `http://host:port`, without a trailing slash. */
  get url(): string {
    const { address, family, port } = this.server.address() as AddressInfo
    const host = address === '0.0.0.0' ? '127.0.0.1' : address
    return `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`
  }

  /** Gives requests from now on to another handler. */
  handleBy(handle: RequestListener): void {
    this.#handle = handle
  }

  /** Closes it; resolves when every connection is closed. May be called again. */
  async stop(): Promise<void> {
    if (!this.server.listening) return
    const closed = new Promise<void>(resolve => void this.server.close(() => resolve()))
    this.server.closeAllConnections()
    await closed
  }
}
