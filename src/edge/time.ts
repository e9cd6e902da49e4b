import { setTimeout as sleepNative } from 'node:timers/promises'
import { Cron } from 'croner'

/**
 * Clock and randomness as an argument. Only this file reads them from the machine, so that a test can run thirty days
 * in a second.
 */
export interface Time {
  /** Whole milliseconds since 1970: instants are stored, and a table of integers takes no fraction. */
  nowMs(): number
  /** Milliseconds of a monotonic clock, from an arbitrary start: setting the wall clock does not change it. */
  steadyMs(): number
  /** A random number from 0 up to, not including, 1. */
  chance(): number
  /** Resolves after `ms`. Rejects with the signal's reason when it is aborted earlier. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** A signal that aborts after `ms`. Does not keep the process alive. */
  timeout(ms: number): AbortSignal
  /** Calls `tick` at every full UTC hour until stopped. */
  everyHour(tick: () => void): { stop(): void }
}

/** A clock that is made of another: all but the instant is the other's. */
export abstract class DerivedTime implements Time {
  protected readonly source: Time

  constructor(source: Time) {
    this.source = source
  }

  /** Milliseconds since 1970, possibly with a fraction: a steady clock has one. */
  protected abstract instantMs(): number

  nowMs(): number {
    return Math.round(this.instantMs())
  }

  steadyMs(): number {
    return this.source.steadyMs()
  }

  chance(): number {
    return this.source.chance()
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.source.sleep(ms, signal)
  }

  timeout(ms: number): AbortSignal {
    return this.source.timeout(ms)
  }

  everyHour(tick: () => void): { stop(): void } {
    return this.source.everyHour(tick)
  }
}

/** The machine's own clock and randomness. */
export const systemTime: Time = {
  nowMs: () => Date.now(),
  steadyMs: () => performance.now(),
  chance: () => Math.random(),
  async sleep(ms, signal) {
    try {
      await sleepNative(ms, undefined, signal ? { signal } : {})
    } catch (error) {
      throw signal?.aborted ? signal.reason : error
    }
  },
  timeout: ms => AbortSignal.timeout(ms),
  everyHour(tick) {
    // UTC by its offset: by its name, 9 MB of time zones would be loaded.
    const cron = new Cron('0 0 * * * *', { utcOffset: 0 }, tick)
    return { stop: () => cron.stop() }
  },
}
