import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Certificate } from '../support/certificate.ts'

/**
 * Answers of a path: once each in turn, the last for ever. `silent` never answers, `cut` closes the connection,
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

/** A request; its body is whole once it has been answered. */
export interface Asked {
  readonly path: string
  readonly target: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Source {
  /** `http://127.0.0.1:port` */
  readonly url: string
  readonly port: number
  /** Path and headers of every request, in order; `path` has no query, `target` has. */
  readonly asked: readonly Asked[]
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
  const asked: { -readonly [P in keyof Asked]: Asked[P] }[] = []
  const answerTo = (path: string, target: string): Answer => {
    if (typeof answers === 'function') return answers(target)
    const turn = asked.filter(each => each.path === path).length - 1
    const script = [answers[path] ?? { status: 404 }].flat()
    return script[Math.min(turn, script.length - 1)] ?? 'silent'
  }
  const listener: RequestListener = (request, response) => {
    const target = request.url ?? ''
    const path = target.replace(/\?.*$/, '')
    const { method = '', headers } = request
    const one = { path, target, method, headers, body: '' }
    asked.push(one)
    request.setEncoding('utf8').on('data', (piece: string) => {
      one.body += piece
    })
    if (method === 'GET') return reply(path, target, request, response)
    request.on('end', () => reply(path, target, request, response))
  }
  const reply = (path: string, target: string, request: IncomingMessage, response: ServerResponse): void => {
    const answer = answerTo(path, target)
    if (answer === 'silent') return
    if (answer === 'cut') return void request.socket.destroy()
    if (answer === 'endless') return void pour(() => response.write(' '.repeat(65_536)), response)
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
