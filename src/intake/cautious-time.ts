import type { Time } from '../edge/time.ts'

/** A lower bound of the present time. */
export interface EarliestNow {
  /** The earliest possible present, in milliseconds since 1970. */
  readonly earliestMs: number
}

/**
 * Time for decisions that must not be early, such as whether a block is final. While this machine's clock is ahead of
 * others, `nowMs` follows the others. Waits have their usual length.
 */
export class CautiousTime implements Time {
  readonly #time: Time
  readonly #earliest: EarliestNow

  constructor(time: Time, earliest: EarliestNow) {
    this.#time = time
    this.#earliest = earliest
  }

  nowMs(): number {
    return this.#earliest.earliestMs
  }

  steadyMs(): number {
    return this.#time.steadyMs()
  }

  chance(): number {
    return this.#time.chance()
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#time.sleep(ms, signal)
  }

  timeout(ms: number): AbortSignal {
    return this.#time.timeout(ms)
  }

  everyHour(tick: () => void): { stop(): void } {
    return this.#time.everyHour(tick)
  }
}
