import type { Time } from '../edge/time.ts'
import { isYetToCome } from '../model/backoff.ts'
import { retryAfterMsMax } from '../model/limits.ts'

/** The service's wish to be left alone for a while, which binds all pushes of a destination, not only the one it answered. */
export class Quiet {
  readonly #wished: (untilMs: number) => void
  #untilMs = 0

  /** @param wished told of every wish, so that it can be written down: the process may end while it waits */
  constructor(wished: (untilMs: number) => void = () => {}) {
    this.#wished = wished
  }

  /** @param untilMs the instant of a `Retry-After`; 0 when there is none */
  keep(untilMs: number): void {
    this.#untilMs = Math.max(this.#untilMs, untilMs)
    if (untilMs > 0) this.#wished(this.#untilMs)
  }

  /** The instant before which nothing may be sent; 0 when something may. */
  untilMs(nowMs: number): number {
    return isYetToCome(this.#untilMs, nowMs, retryAfterMsMax) ? this.#untilMs : 0
  }

  /** Resolves when something may be sent. Rejects with the signal's reason. */
  async over(time: Time, signal: AbortSignal): Promise<void> {
    const nowMs = time.nowMs()
    const untilMs = this.untilMs(nowMs)
    if (untilMs > nowMs) await time.sleep(untilMs - nowMs, signal)
  }
}
