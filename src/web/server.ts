import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'

export type WebServer = FastifyInstance

export interface Listening {
  /** `http://host:port`, without a trailing slash. */
  readonly url: string
  /** Complete when it returns: no connection is left open. */
  stop(): Promise<void>
}

/** The one way a server is made here: no framework log, connections closed on stop, bounded bodies. */
export function webServer(options: Pick<FastifyServerOptions, 'bodyLimit' | 'maxParamLength'> = {}): WebServer {
  return fastify({ logger: false, forceCloseConnections: true, return503OnClosing: false, ...options })
}

/**
 * @param port 0 for one the system picks
 * @throws the system's error (`EADDRINUSE`, `EACCES`) when it cannot listen there
 */
export async function listen(server: WebServer, host: string, port: number): Promise<Listening> {
  const url = await server.listen({ host, port })
  return { url, stop: () => server.close() }
}
