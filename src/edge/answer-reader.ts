import './unasked-continue.ts'
import type { Dispatcher } from 'undici'
import type { AnswerHeaders } from '../model/answer-times.ts'

/** An answer over HTTP. */
export interface HttpBytes {
  readonly status: number
  readonly headers: AnswerHeaders
  /** Its body; `undefined` when it is too long, or when the body of an answer that is not a 2xx broke off. */
  readonly pieces: readonly Buffer[] | undefined
}

/** Turns of answers that are large. */
interface LargeAnswers {
  /** Bytes from which on one is large. */
  readonly bytes: number
  /** Resolves when the rest may be read. */
  turn(): Promise<void>
}

/** Pieces that are kept as they come: the first, and those of this length. */
const [ownPiecesMax, ownPieceBytes, blockBytes] = [16, 4_096, 65_536]

/**
 * Reads one answer of a node, as a handler of undici's `dispatch`: a large one waits for its turn, and the memory of its
 * pieces can be freed.
 */
export class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #bytesMaxOf: (status: number) => number
  #large: LargeAnswers | undefined
  readonly #pieces: Buffer[] = []
  /** Where small pieces are copied to, and the length of what it has. */
  #block: { readonly bytes: Buffer; length: number } | undefined
  readonly #settled = Promise.withResolvers<HttpBytes>()
  #bytes = 0
  #bytesMax = 0
  #head: Omit<HttpBytes, 'pieces'> | undefined
  #controller: Dispatcher.DispatchController | undefined
  #endedBy: { readonly reason: Error } | undefined

  /**
   * @param bytesMaxOf longest body that is read of an answer with this status, in bytes
   * @param large the bytes from which on an answer waits for its turn. Default: none does
   */
  constructor(bytesMaxOf: (status: number) => number, large?: LargeAnswers) {
    this.#bytesMaxOf = bytesMaxOf
    this.#large = large
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

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#keep(chunk)
    if (this.#large && this.#bytes > this.#large.bytes) {
      const { turn } = this.#large
      this.#large = undefined
      controller.pause()
      turn().then(
        () => controller.resume(),
        // The exchange ends with the same signal.
        () => {},
      )
    }
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

  /** Copies small pieces together: a piece of its own for each byte of an answer takes a hundred times its memory. */
  #keep(chunk: Buffer): void {
    if (this.#pieces.length < ownPiecesMax || chunk.length >= ownPieceBytes) {
      this.#pieces.push(chunk)
      this.#block = undefined
      return
    }
    if (!this.#block || this.#block.length + chunk.length > blockBytes) {
      this.#block = { bytes: Buffer.allocUnsafeSlow(blockBytes), length: 0 }
      this.#pieces.push(this.#block.bytes)
    }
    const { bytes, length } = this.#block
    chunk.copy(bytes, length)
    this.#block.length += chunk.length
    this.#pieces[this.#pieces.length - 1] = bytes.subarray(0, this.#block.length)
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
