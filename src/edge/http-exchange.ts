/// <reference path="./undici-parts.d.ts" />
import type { Dispatcher, Pool } from 'undici'
import type { AnswerHeaders } from '../model/answer-times.ts'
import './unasked-continue.ts'
import type { Time } from './time.ts'
import { unpackedBody } from './unpacked-body.ts'

/** Limits of the exchanges with one server. */
interface HttpExchangeOptions {
  /** Address of the server, with the beginning of all paths, without a trailing slash. */
  readonly url: string
  /** Time limit of one exchange, whole answer included, in milliseconds; it may be exceeded by a hundredth. */
  readonly timeoutMs: number
  /** Longest body of an answer that is read, in bytes. */
  readonly bytesMax: number
  /** Concurrent connections, at most. */
  readonly connections: number
  readonly time: Time
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
  /** Ends the exchange. */
  readonly stop?: AbortSignal | undefined
}

/** The answer to a request. */
interface ExchangeResponse {
  readonly status: number
  readonly headers: AnswerHeaders
  /** `undefined` when it is too long or cannot be unpacked, or when the body of an answer that is not a 2xx broke off. */
  readonly text: string | undefined
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

  constructor(options: HttpExchangeOptions) {
    const { origin, pathname } = new URL(options.url)
    this.#options = options
    this.#origin = origin
    this.#pathStart = pathname.replace(/\/$/, '')
  }

  /**
   * Sends a request and reads its answer.
   *
   * @throws errors of the network; the reason of the time limit's signal, or of `stop`
   */
  async ask({ method, path, headers: sent, body, stop }: ExchangeRequest): Promise<ExchangeResponse> {
    const { pool, request } = this.#undici ?? (await this.#opened())
    stop?.throwIfAborted()
    const { time, timeoutMs } = this.#options
    const limit = time.timeout(Math.ceil(timeoutMs * lateFactor))
    const answer = await request.call(pool, {
      path: `${this.#pathStart}${path}`,
      method,
      headers: sent,
      body: body ?? null,
      signal: stop ? AbortSignal.any([limit, stop]) : limit,
    })
    const { statusCode: status, headers } = answer
    const bytes = await this.#bytesOf(answer)
    return { status, headers, text: bytes && (await this.#textOf(bytes, headers['content-encoding'])) }
  }

  /** Closes the connections; resolves when they are closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#undici?.pool.destroy()
  }

  /** Loads undici for the first request: a daemon starts before it sends anything. */
  async #opened(): Promise<Undici> {
    const [{ default: OwnPool }, { default: request }] = await Promise.all([
      import('undici/lib/dispatcher/pool.js'),
      import('undici/lib/api/api-request.js'),
    ])
    if (this.#isClosed) throw new Error('the connections are closed')
    const { timeoutMs, connections } = this.#options
    this.#undici ??= {
      request,
      pool: new OwnPool(this.#origin, {
        connections,
        pipelining: 1,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      }),
    }
    return this.#undici
  }

  /** The body; `undefined` when it is too long, or of an answer that is no 2xx and broke off: its status is enough. */
  async #bytesOf({ statusCode, body }: Dispatcher.ResponseData): Promise<Buffer | undefined> {
    let [pieces, length]: [Buffer[], number] = [[], 0]
    try {
      for await (const piece of body as AsyncIterable<Buffer>) {
        length += piece.length
        if (length > this.#options.bytesMax) return undefined
        pieces.push(piece)
        if (pieces.length === piecesMax) pieces = [Buffer.concat(pieces)]
      }
    } catch (error) {
      if (statusCode >= 300) return undefined
      throw error
    }
    return Buffer.concat(pieces)
  }

  /** Also of a compressed body, though none was asked for; `undefined` when it cannot be unpacked, or is too long. */
  async #textOf(bytes: Buffer, encoding: string | readonly string[] | undefined): Promise<string | undefined> {
    const unpacked = await unpackedBody(bytes, encoding && [encoding].flat().join(), this.#options.bytesMax)
    return typeof unpacked === 'string' ? undefined : unpacked.toString('utf8')
  }
}
