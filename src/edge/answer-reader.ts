import type { Dispatcher } from 'undici'
import type { AnswerHeaders } from '../model/answer-times.ts'

/** An answer over HTTP. */
export interface HttpBytes {
  readonly status: number
  readonly headers: AnswerHeaders
  /** Its body; `undefined` when it is too long, or when the body of an answer that is not a 2xx broke off. */
  readonly pieces: readonly Buffer[] | undefined
}

/**
 * Reads one answer, as a handler of undici's `dispatch`. undici's `request` is not used: its streams, promises and
 * signals for each answer take longer than all the rest of a push, and a tenth of a read of 1,000 values.
 */
export class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #bytesMaxOf: (status: number) => number
  readonly #pieces: Buffer[] = []
  readonly #settled = Promise.withResolvers<HttpBytes>()
  #bytes = 0
  #bytesMax = 0
  #head: Omit<HttpBytes, 'pieces'> | undefined
  #controller: Dispatcher.DispatchController | undefined
  #endedBy: { readonly reason: Error } | undefined

  /** @param bytesMaxOf longest body that is read of an answer with this status, in bytes */
  constructor(bytesMaxOf: (status: number) => number) {
    this.#bytesMaxOf = bytesMaxOf
  }

  /** Rejects with an error of the network, or the reason of the end. */
  get answer(): Promise<HttpBytes> {
    return this.#settled.promise
  }

  /** Ends the exchange, as far as it goes on. */
  end(reason: Error): void {
    this.#endedBy ??= { reason }
    this.#fail(reason)
    this.#controller?.abort(reason)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#endedBy) controller.abort(this.#endedBy.reason)
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    // A 1xx comes before the answer.
    if (status < 200) return
    this.#head = { status, headers }
    this.#bytesMax = this.#bytesMaxOf(status)
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#pieces.push(chunk)
    if (this.#bytes <= this.#bytesMax) return
    this.#settle(undefined)
    this.end(new Error('the answer is too long'))
  }

  onResponseEnd(): void {
    this.#settle(this.#pieces)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error)
  }

  /** Does nothing once the answer is complete. */
  #fail(error: Error): void {
    // A refusing status is enough; of an accepted request the body is needed.
    if (this.#head && this.#head.status >= 300) this.#settle(undefined)
    else this.#settled.reject(error)
  }

  #settle(pieces: readonly Buffer[] | undefined): void {
    if (this.#head) this.#settled.resolve({ ...this.#head, pieces })
  }
}
