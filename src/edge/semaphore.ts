import { unlessAborted } from './unless-aborted.ts'

/** FIFO semaphore. */
export class Semaphore {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Does the work when there is room. Rejects with the signal's reason while it waits. */
  async with<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#take(signal)
    try {
      return await work()
    } finally {
      this.#give()
    }
  }

  async #take(signal: AbortSignal): Promise<void> {
    if (this.#free > 0) {
      this.#free--
      return
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    try {
      await unlessAborted(promise, signal)
    } catch (error) {
      const place = this.#waiting.indexOf(resolve)
      // The place may have been granted at the moment of the abort.
      if (place === -1) this.#give()
      else this.#waiting.splice(place, 1)
      throw error
    }
  }

  #give(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free += 1
  }
}
