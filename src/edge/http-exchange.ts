/// <reference path="./undici-parts.d.ts" />
import type { Pool } from 'undici'
import type { AnswerHeaders } from '../model/answer-times.ts'
import { AbortListeners } from './abort-listeners.ts'
import { AnswerReader } from './answer-reader.ts'
import { answerText } from './answer-text.ts'
import type { Time } from './time.ts'
import { unpackedBody } from './unpacked-body.ts'

/** Limits of the exchanges with one server. */
export interface HttpExchangeOptions {
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
  readonly body?: string | Uint8Array | undefined
  /** Ends the exchange. */
  readonly stop?: AbortSignal | undefined
}

/** The answer to a request. */
export interface ExchangeResponse {
  readonly status: number
  readonly headers: AnswerHeaders
  /** `undefined` when it is too long or cannot be unpacked, or when the body of an answer that is not a 2xx broke off. */
  readonly text: string | undefined
}

/** HTTP exchanges with one server. Redirects are not followed. */
export class HttpExchange {
  readonly #options: HttpExchangeOptions
  #pool: Pool | undefined
  #isClosed = false
  readonly #origin: string
  readonly #pathStart: string
  readonly #ends = new AbortListeners()
  /** Signal of the time limit, shared by exchanges that begin soon after each other: a signal each costs ten times as much. */
  #limit: { readonly signal: AbortSignal; readonly lastStartMs: number } | undefined

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
  async ask({ method, path, headers, body, stop }: ExchangeRequest): Promise<ExchangeResponse> {
    const pool = this.#pool ?? (await this.#opened())
    stop?.throwIfAborted()
    const limit = this.#timeLimit()
    const reading = new AnswerReader(() => this.#options.bytesMax)
    this.#ends.add(limit, reading)
    if (stop) this.#ends.add(stop, reading)
    try {
      pool.dispatch({ path: `${this.#pathStart}${path}`, method, headers, body: body ?? null }, reading)
      const { pieces, ...answer } = await reading.answer
      return { ...answer, text: pieces && (await this.#textOf(pieces, answer.headers['content-encoding'])) }
    } finally {
      this.#ends.delete(limit, reading)
      if (stop) this.#ends.delete(stop, reading)
    }
  }

  /** Closes the connections; resolves when they are closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#pool?.destroy()
  }

  /** Loads undici for the first request: a daemon starts before it sends anything. */
  async #opened(): Promise<Pool> {
    const { default: Pool } = await import('undici/lib/dispatcher/pool.js')
    if (this.#isClosed) throw new Error('the connections are closed')
    const { timeoutMs, connections } = this.#options
    this.#pool ??= new Pool(this.#origin, {
      connections,
      pipelining: 1,
      // The signal of the time limit ends an exchange; only these make undici look whether an HTTP/2 connection is dead.
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    })
    return this.#pool
  }

  /** Also of a compressed body, though none was asked for; `undefined` when it cannot be unpacked, or is too long. */
  async #textOf(pieces: readonly Buffer[], encoding: string | readonly string[] | undefined) {
    if (encoding === undefined) return answerText(pieces)
    const bytes = await unpackedBody(Buffer.concat(pieces), [encoding].flat().join(), this.#options.bytesMax)
    return typeof bytes === 'string' ? undefined : bytes.toString('utf8')
  }

  #timeLimit(): AbortSignal {
    const { time, timeoutMs } = this.#options
    const [nowMs, sharedMs] = [time.steadyMs(), timeoutMs / 100]
    if (!this.#limit || this.#limit.signal.aborted || nowMs > this.#limit.lastStartMs) {
      this.#limit = { signal: time.timeout(timeoutMs + sharedMs), lastStartMs: nowMs + sharedMs }
    }
    return this.#limit.signal
  }
}
