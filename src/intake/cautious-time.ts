import type { Time } from '../edge/time.ts'

/** Who knows how late it is at least. */
export interface EarliestNow {
  /** The earliest that it may be, in milliseconds since 1970. */
  readonly earliestMs: number
}

/**
 * The time for what must not be taken for over too early: whether a block is final. While this machine's clock is ahead of
 * others it is as late as those say. Waits are as long as by any clock.
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
