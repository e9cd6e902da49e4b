import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Push, Registration } from '../../../src/model/wire.ts'
import type { Sent } from './memory-service.ts'

/** Result of a rule: a status with a body (an object is written as JSON), or whatever it does to the response itself. */
export type Reply =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | ((response: ServerResponse, request: IncomingMessage) => void)

/** One request to push, as it came in. */
export interface HttpPush {
  readonly key: string
  readonly metrics: readonly Sent[]
}

/** A service over real HTTP, by a rule; it writes down what it was asked. */
export class HttpService {
  readonly pushes: HttpPush[] = []
  readonly checkedKeys: string[] = []
  readonly registered: Registration[] = []
  /** Everything that came in: `POST /api/metrics`. */
  readonly requests: string[] = []
  rule: (push: HttpPush) => Reply | undefined = () => undefined
  registerReply: () => Reply = () => ({ status: 200, body: {} })
  keyReply: (key: string) => Reply = () => ({ status: 200, body: { valid: true } })
  /** Its `Date` headers; `undefined`: it sends none. */
  clockMs: (() => number) | undefined
  readonly #server: Server

  private constructor(clockMs: (() => number) | undefined) {
    this.clockMs = clockMs
    this.#server = createServer((request, response) => this.#read(request, response))
  }

  static async start(clockMs?: () => number): Promise<HttpService> {
    const service = new HttpService(clockMs)
    const server = service.#server
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    })
    return service
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  #read(request: IncomingMessage, response: ServerResponse): void {
    response.on('error', () => {})
    response.sendDate = false
    if (this.clockMs) response.setHeader('date', new Date(this.clockMs()).toUTCString())
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => this.#answer(request, response, Buffer.concat(chunks).toString('utf8')))
  }

  #answer(request: IncomingMessage, response: ServerResponse, body: string): void {
    const asked = `${request.method} ${request.url}`
    this.requests.push(asked)
    const key = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
    write(this.#reply(asked, key, body), request, response)
  }

  #reply(asked: string, key: string, body: string): Reply {
    if (asked === 'POST /api/metrics') {
      const { metrics } = JSON.parse(body) as Push
      const push = { key, metrics }
      this.pushes.push(push)
      return this.rule(push) ?? taken(metrics.length)
    }
    if (asked === 'GET /api/validate-key') {
      this.checkedKeys.push(key)
      return this.keyReply(key)
    }
    if (asked !== 'POST /api/register-protocol') return { status: 200, body: {} }
    this.registered.push(JSON.parse(body) as Registration)
    return this.registerReply()
  }
}

/** The answer to a push all of which is stored. */
export function taken(processed: number, warnings: readonly unknown[] = []): Reply {
  return { status: 200, body: { success: true, processed, errors: [], warnings } }
}

function write(reply: Reply, request: IncomingMessage, response: ServerResponse): void {
  if (typeof reply === 'function') {
    reply(response, request)
    return
  }
  const { status, body, headers = {} } = reply
  const isText = typeof body === 'string' || body instanceof Buffer || body === undefined
  response.writeHead(status, { ...(isText ? {} : { 'content-type': 'application/json' }), ...headers })
  response.end(isText ? body : JSON.stringify(body))
}
