import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  type FastifyTypeProvider,
  type RawServerDefault,
} from 'fastify'
import { Fault } from '../model/fault.ts'
import { boundConnections, type OpenPort, oneAtATime, slowLookMs } from './open-port.ts'

export type WebServer = FastifyInstance
/** A server whose routes are typed by their schemas. */
export type TypedWebServer<P extends FastifyTypeProvider> = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  P
>
export type WebRequest = FastifyRequest
export type WebReply = FastifyReply

/** A listening server. */
export interface Listening {
  /** `http://host:port`, without a trailing slash. */
  readonly url: string
  /** Stops the server; resolves when every connection is closed. */
  stop(): Promise<void>
}

/** Options of a server. */
interface WebServerOptions extends Pick<FastifyServerOptions, 'bodyLimit' | 'routerOptions' | 'frameworkErrors'> {
  /**
   * Longest wait for a request's headers, and for the whole request, in milliseconds. Default: Node's, a minute and
   * five.
   */
  readonly headersMsMax?: number
  readonly requestMsMax?: number
  /** Whether a connection that asks again before it has its answer is ended. Default: no. */
  readonly isOneAtATime?: boolean
  /** The port that it will answer at (`answerAt`). Default: it listens itself. */
  readonly openPort?: OpenPort | undefined
}

/**
 * In place of fastify's own compilers of schemas, which are as large as the rest of it. A server with schemas sets
 * compilers of its own.
 */
const noCompilers = { buildValidator: () => unsetCompiler, buildSerializer: () => unsetCompiler }

function unsetCompiler(): never {
  throw new Error('a server with schemas needs compilers for them')
}

/** Creates a server; all servers are created here. No framework log, connections closed on stop, bounded bodies. */
export function webServer({ openPort, isOneAtATime, ...options }: WebServerOptions = {}): WebServer {
  const { headersMsMax, requestMsMax, ...frameworkOptions } = options
  const limits = {
    ...(headersMsMax !== undefined && { headersTimeout: headersMsMax }),
    ...(requestMsMax !== undefined && { requestTimeout: requestMsMax }),
    connectionsCheckingInterval: slowLookMs,
  }
  const server = fastify({
    serverFactory: handle => openPort?.server ?? createServer(limits, isOneAtATime ? oneAtATime(handle) : handle),
    logger: false,
    forceCloseConnections: true,
    schemaController: { compilersFactory: noCompilers },
    return503OnClosing: false,
    ...frameworkOptions,
  })
  if (!openPort) boundConnections(server.server)
  return server
}

/** Answers the requests of its `openPort` from now on. */
export async function answerAt(server: WebServer, openPort: OpenPort): Promise<Listening> {
  await server.ready()
  openPort.handleBy((request, response) => server.routing(request, response))
  return {
    url: openPort.url,
    async stop() {
      await openPort.stop()
      await server.close()
    },
  }
}

/**
 * Starts listening.
 * @param port 0: the system picks one @throws Fault `address-unusable` when it cannot listen there
 */
export async function listen(server: WebServer, host: string, port: number): Promise<Listening> {
  try {
    const url = await server.listen({ host, port })
    return { url, stop: () => server.close() }
  } catch (error) {
    throw unusable(`${host}:${port}`, (error as NodeJS.ErrnoException).code ?? 'unknown error')
  }
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there',
  EACCES: 'this user may not listen on that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no such host',
}

function unusable(address: string, code: string): Fault {
  const why = reasons[code] ?? code
  return new Fault('address-unusable', `cannot listen on ${address}: ${why}`, {
    fix:
      code === 'EADDRINUSE' ? 'stop that program, or choose another address with --listen' : 'choose another address',
  })
}
