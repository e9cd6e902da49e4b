/// <reference path="./undici-parts.d.ts" />

import type { Dispatcher, Pool } from 'undici'
import type { AnswerHeaders } from '../model/answer-times.ts'
import { peerText } from '../model/text.ts'
import { tlsWantedError } from './network-reason.ts'
import './unasked-continue.ts'
import { type ClientCertificate, egressConnector } from './egress.ts'
import { Semaphore } from './semaphore.ts'
import type { Time } from './time.ts'
import { type Unpackable, unpackedBody } from './unpacked-body.ts'

/** Limits of the exchanges with one server. */
interface HttpExchangeOptions {
  /** Address of the server, with the beginning of all paths, without a trailing slash. */
  readonly url: string
  /**
   * Time limit of one exchange, whole answer included, in milliseconds; it may be exceeded by a hundredth. Default: only
   * `stop` ends one.
   */
  readonly timeoutMs?: number
  /** Concurrent connections, at most. */
  readonly connections: number
  readonly time: Time
  /** Reads the certificate of this client for each connection. Default: none is shown. */
  readonly certificate?: (() => ClientCertificate) | undefined
  /** Answers that are longer, in bytes, are read one at a time, as memory may not hold several. Default: all at once. */
  readonly oneAtATimeBytes?: number
}

/** One request. */
export interface ExchangeRequest {
  readonly method: 'GET' | 'POST'
  /** Appended to the address. */
  readonly path: string
  /** By name. */
  readonly headers: Readonly<Record<string, string>>
  /** Default: none. */
  readonly body?: string | undefined
  /** Longest body of the answer that is read, in bytes. */
  readonly bytesMax: number
  /** Ends the exchange. */
  readonly stop?: AbortSignal | undefined
}

/** The answer to a request. */
interface ExchangeResponse {
  readonly status: number
  readonly headers: AnswerHeaders
  /** The body; absent for the reason in `unread`. */
  readonly text: string | undefined
  /** `broken-off`: of an answer that is no 2xx, whose status is enough. */
  readonly unread?: Unpackable | 'broken-off'
}

/** Pieces of an answer after which they are joined: a server may send each byte as one, which takes a hundred times its memory. */
const piecesMax = 1_000

/** undici's own limits come before the signal: only they find out that an HTTP/2 connection is dead. */
const lateFactor = 1.01

/** undici, as far as it is used: the whole of it, with `fetch` and WebSocket, takes 15 MB more. */
interface Undici {
  readonly pool: Pool
  request(this: Dispatcher, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>
}

/** HTTP exchanges with one server. Redirects are not followed. */
export class HttpExchange {
  readonly #options: HttpExchangeOptions
  #undici: Undici | undefined
  #isClosed = false
  readonly #origin: string
  readonly #pathStart: string
  readonly #long = new Semaphore(1)

  constructor(options: HttpExchangeOptions) {
    const { origin, pathname } = new URL(options.url)
    this.#options = options
    this.#origin = origin
    this.#pathStart = pathname.replace(/\/$/, '')
  }

  /**
   * Sends a request and reads its answer.
   *
   * @throws errors of the network, and where a server says that it speaks TLS; the reason of the time limit's signal, or of `stop`
   */
  async ask(asked: ExchangeRequest): Promise<ExchangeResponse> {
    const { method, path, headers: requestHeaders, body = null, bytesMax, stop } = asked
    const { pool, request } = this.#undici ?? (await this.#opened())
    stop?.throwIfAborted()
    const signal = this.#limited(stop)
    const answer = await request.call(pool, {
      path: `${this.#pathStart}${path}`,
      method,
      headers: requestHeaders,
      body,
      ...(signal && { signal }),
    })
    const { statusCode: status, headers } = answer
    const bytes = await this.#bytesOf(answer, bytesMax, signal)
    const encoding = headers['content-encoding']
    const read = typeof bytes === 'string' ? bytes : await unpackedBody(bytes, encoding?.toString(), bytesMax)
    if (typeof read === 'string') return { status, headers, text: undefined, unread: read }
    const text = read.toString('utf8')
    const wanted = this.#origin.startsWith('http:') ? tlsWantedError(status, peerText(text)) : undefined
    if (wanted) throw wanted
    return { status, headers, text }
  }

  /** Closes the connections; resolves when they are closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#undici?.pool.destroy()
  }

  /** Loads undici for the first request: a daemon starts before it sends anything. */
  async #opened(): Promise<Undici> {
    const [{ default: OwnPool }, { default: request }, { default: build }] = await Promise.all([
      import('undici/lib/dispatcher/pool.js'),
      import('undici/lib/api/api-request.js'),
      import('undici/lib/core/connect.js'),
    ])
    if (this.#isClosed) throw new Error('the connections are closed')
    const { timeoutMs = 0, connections, certificate } = this.#options
    this.#undici ??= {
      request,
      pool: new OwnPool(this.#origin, {
        connect: egressConnector(build, { certificate }),
        connections,
        pipelining: 1,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      }),
    }
    return this.#undici
  }

  /** Aborted by `stop` and at the time limit. */
  #limited(stop: AbortSignal | undefined): AbortSignal | undefined {
    const { time, timeoutMs } = this.#options
    if (timeoutMs === undefined) return stop
    const limit = time.timeout(Math.ceil(timeoutMs * lateFactor))
    return stop ? AbortSignal.any([limit, stop]) : limit
  }

  async #bytesOf(
    { statusCode, body }: Dispatcher.ResponseData,
    bytesMax: number,
    signal = new AbortController().signal,
  ): Promise<Buffer | 'too-long' | 'broken-off'> {
    const { oneAtATimeBytes = bytesMax } = this.#options
    const reader = new BodyReader(body)
    try {
      await reader.readTo(Math.min(oneAtATimeBytes, bytesMax))
      if (reader.length > oneAtATimeBytes) await this.#long.with(signal, () => reader.readTo(bytesMax))
      return reader.length > bytesMax ? 'too-long' : reader.bytes
    } catch (error) {
      if (statusCode >= 300) return 'broken-off'
      throw error
    } finally {
      await reader.close()
    }
  }
}

/** Reads a body, in steps. */
class BodyReader {
  readonly #pieces: AsyncIterator<Buffer>
  readonly #joined: Buffer[] = []
  #last: Buffer[] = []
  #length = 0

  constructor(body: AsyncIterable<Buffer>) {
    this.#pieces = body[Symbol.asyncIterator]()
  }

  /** Bytes that were read. */
  get length(): number {
    return this.#length
  }

  get bytes(): Buffer {
    return Buffer.concat([...this.#joined, ...this.#last])
  }

  /** Closes the connection of a body that was not read to its end. */
  async close(): Promise<void> {
    await this.#pieces.return?.()
  }

  /** Reads until the body ends, or is longer than that. */
  async readTo(bytes: number): Promise<void> {
    while (this.#length <= bytes) {
      const { done, value } = await this.#pieces.next()
      if (done) return
      this.#length += value.length
      this.#last.push(value)
      if (this.#last.length < piecesMax) continue
      this.#joined.push(Buffer.concat(this.#last))
      this.#last = []
    }
  }
}
