import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'

/** What a path answers: once each in turn, the last for ever. `silent` never answers, `cut` closes the connection. */
export type Answer =
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string | Buffer }
  | 'silent'
  | 'cut'

export interface Source {
  /** `http://127.0.0.1:port` */
  readonly url: string
  /** Path and headers of every request, in order. */
  readonly asked: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[]
  stop(): Promise<void>
}

/** A real HTTP server with scripted answers by path. */
export async function startSource(answers: Readonly<Record<string, Answer | readonly Answer[]>>): Promise<Source> {
  const asked: { path: string; headers: IncomingHttpHeaders }[] = []
  const server = createServer((request, response) => {
    const path = (request.url ?? '').replace(/\?.*$/, '')
    const turn = asked.filter(each => each.path === path).length
    asked.push({ path, headers: request.headers })
    const script = [answers[path] ?? { status: 404 }].flat()
    const answer = script[Math.min(turn, script.length - 1)] ?? 'silent'
    if (answer === 'silent') return
    if (answer === 'cut') return void request.socket.destroy()
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers }).end(answer.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
