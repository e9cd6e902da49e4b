import type { Time } from '../../edge/time.ts'
import { hostWaitMsMax } from './limits.ts'

/**
 * The deadline of one run. Time that the run waits for its turn at a host does not count, up to a limit: it is busy
 * because of others.
 */
export class RunDeadline {
  readonly #time: Time
  readonly #ms: number
  readonly #startMs: number
  #waits = 0
  #waitingSinceMs = 0
  #waitedMs = 0

  /** Starts now. @param ms time limit of the run, in milliseconds */
  constructor(time: Time, ms: number) {
    this.#time = time
    this.#ms = ms
    this.#startMs = time.steadyMs()
  }

  /** Time left, in milliseconds; 0 or less when the deadline has passed. */
  get leftMs(): number {
    const nowMs = this.#time.steadyMs()
    const waitedMs = this.#waitedMs + (this.#waits > 0 ? nowMs - this.#waitingSinceMs : 0)
    return this.#startMs + this.#ms + Math.min(waitedMs, hostWaitMsMax) - nowMs
  }

  /** The time until the wait settles does not count. */
  async without<T>(wait: Promise<T>): Promise<T> {
    if (this.#waits === 0) this.#waitingSinceMs = this.#time.steadyMs()
    this.#waits += 1
    try {
      return await wait
    } finally {
      this.#waits -= 1
      if (this.#waits === 0) this.#waitedMs += this.#time.steadyMs() - this.#waitingSinceMs
    }
  }

  /** Waits for the deadline. Rejects with the signal's reason. */
  async passed(signal: AbortSignal): Promise<void> {
    for (let ms = this.leftMs; ms > 0; ms = this.leftMs) await this.#time.sleep(Math.ceil(ms), signal)
  }
}

/** Whether a wait has ended, and not been aborted. */
export function isOver(wait: Promise<void>): Promise<boolean> {
  return wait.then(
    () => true,
    () => false,
  )
}
