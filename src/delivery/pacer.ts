import type { Time } from '../time.ts'

/** Lets requests start at an even pace. */
export class Pacer {
  readonly #time: Time
  readonly #intervalMs: number
  #nextMs = 0
  #lastAskedMs = 0

  constructor(time: Time, perSecond: number) {
    this.#time = time
    this.#intervalMs = 1000 / perSecond
  }

  /** Resolves when the next request may start. Rejects with the signal's reason. */
  async turn(signal: AbortSignal): Promise<void> {
    const nowMs = this.#time.nowMs()
    // After the clock was set back the old turns mean nothing.
    if (nowMs < this.#lastAskedMs) this.#nextMs = nowMs
    this.#lastAskedMs = nowMs
    const startMs = Math.max(nowMs, this.#nextMs)
    this.#nextMs = startMs + this.#intervalMs
    if (startMs > nowMs) await this.#time.sleep(startMs - nowMs, signal)
  }
}
