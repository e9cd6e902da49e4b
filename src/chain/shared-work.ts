import { unlessAborted } from '../edge/unless-aborted.ts'

/** Work that several callers wait for, each with its own signal. It is aborted when no caller waits any more. */
export class SharedWork<T> {
  readonly #abort = new AbortController()
  readonly #promise: Promise<T>
  #waiting = 0
  #failed = false

  /** Starts the work. */
  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#promise = work(this.#abort.signal)
    this.#promise.catch(() => {
      this.#failed = true
    })
  }

  /** Whether callers can join: it neither failed nor was aborted. */
  get isUsable(): boolean {
    return !this.#failed && !this.#abort.signal.aborted
  }

  /** Waits for the result; rejects with the signal's reason if that comes first. */
  async join(signal: AbortSignal): Promise<T> {
    this.#waiting += 1
    let settled = false
    try {
      const outcome = await unlessAborted(this.#promise, signal)
      settled = true
      return outcome
    } finally {
      this.#waiting--
      if (this.#waiting === 0 && !settled) this.#abort.abort()
    }
  }
}
