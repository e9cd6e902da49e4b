import type { Time } from '../../edge/time.ts'
import { slowedIntervalMsMax } from './limits.ts'

/** Factor by which an accepted push shortens the pause between requests, until it is the configured one again. */
const recovery = 0.9

/** Gives requests their turns, one after the other. */
export interface Turns {
  /** Pause between two requests. */
  readonly intervalMs: number
  /**
   * Resolves when the next request may start; returns nothing where it may at once. Rejects with the signal's reason, or an
   * error of the outbox.
   */
  turn(signal: AbortSignal): Promise<void> | void
  /** The retry-after of all daemons that push with the same key. Absent where no others do. */
  readonly shared?: SharedRetryAfter
}

/** A retry-after that one daemon of a fleet learns and all keep. */
export interface SharedRetryAfter {
  /** As of the last turn, in milliseconds since 1970; 0 for none. */
  readonly notBeforeMs: number
  /** Tells the others. 0 ends it. Rejects with errors of the outbox. */
  note(notBeforeMs: number): Promise<void>
}

/** Starts requests at an even pace, never faster than configured, and slower for a while after a 429. */
export class Pacer implements Turns {
  readonly #time: Time
  readonly #configuredMs: number
  #intervalMs: number
  #lastMs = Number.NEGATIVE_INFINITY

  constructor(time: Time, perSecond: number) {
    this.#time = time
    this.#configuredMs = 1000 / perSecond
    this.#intervalMs = this.#configuredMs
  }

  /** Configured pause between two requests. */
  get intervalMs(): number {
    return this.#configuredMs
  }

  /** As `Turns.turn`. */
  turn(signal: AbortSignal): Promise<void> | void {
    const nowMs = this.#time.steadyMs()
    const startMs = Math.max(nowMs, this.#lastMs + this.#intervalMs)
    this.#lastMs = startMs
    if (startMs > nowMs) return this.#time.sleep(Math.ceil(startMs - nowMs), signal)
  }

  /** Doubles the pause, after a 429. */
  slow(): void {
    const doubledMs = Math.max(this.#intervalMs * 2, 1)
    this.#intervalMs = Math.max(this.#configuredMs, Math.min(doubledMs, slowedIntervalMsMax))
  }

  /** Shortens the pause, after an accepted push. */
  quicken(): void {
    this.#intervalMs = Math.max(this.#configuredMs, this.#intervalMs * recovery)
  }
}
