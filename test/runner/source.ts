import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Certificate } from '../support/certificate.ts'

/**
 * What a path answers: once each in turn, the last for ever. `silent` never answers, `cut` closes the connection,
 * `endless` never stops to answer.
 */
export type Answer =
  | {
      readonly status?: number
      readonly headers?: Readonly<Record<string, string | string[]>>
      readonly body?: string | Buffer
    }
  | 'silent'
  | 'cut'
  | 'endless'

export type Answers = Readonly<Record<string, Answer | readonly Answer[]>>

export interface Source {
  /** `http://127.0.0.1:port` */
  readonly url: string
  readonly port: number
  /** Path and headers of every request, in order; `path` has no query, `target` has. */
  readonly asked: readonly { readonly path: string; readonly target: string; readonly headers: IncomingHttpHeaders }[]
  stop(): Promise<void>
}

/** Where a source listens. */
export interface SourceParts {
  /** A loopback address; default 127.0.0.1. */
  readonly address?: string
  readonly certificate?: Certificate
}

/** A real HTTP server with scripted answers by path. */
export async function startSource(
  answers: Answers | ((target: string) => Answer),
  { address = '127.0.0.1', certificate }: SourceParts = {},
): Promise<Source> {
  const asked: { path: string; target: string; headers: IncomingHttpHeaders }[] = []
  const answerTo = (path: string, target: string): Answer => {
    if (typeof answers === 'function') return answers(target)
    const turn = asked.filter(each => each.path === path).length - 1
    const script = [answers[path] ?? { status: 404 }].flat()
    return script[Math.min(turn, script.length - 1)] ?? 'silent'
  }
  const listener: RequestListener = (request, response) => {
    const target = request.url ?? ''
    const path = target.replace(/\?.*$/, '')
    asked.push({ path, target, headers: request.headers })
    const answer = answerTo(path, target)
    if (answer === 'silent') return
    if (answer === 'cut') return void request.socket.destroy()
    if (answer === 'endless') return pour(() => response.write(' '.repeat(65_536)), response)
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers }).end(answer.body)
  }
  const server = certificate ? createSecureServer(certificate, listener) : createServer(listener)
  server.listen(0, address)
  await once(server, 'listening')
  const bound = server.address()
  if (typeof bound !== 'object' || bound === null) throw new Error('the server has no port')
  return {
    url: `${certificate ? 'https' : 'http'}://${address}:${bound.port}`,
    port: bound.port,
    asked,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function pour(write: () => boolean, stream: NodeJS.EventEmitter & { readonly destroyed: boolean }): void {
  const more = () => {
    while (!stream.destroyed && write()) {}
  }
  stream.on('drain', more)
  more()
}
