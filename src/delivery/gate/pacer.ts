import type { Time } from '../../edge/time.ts'
import { slowedIntervalMsMax } from './limits.ts'

/** What is left of the pause between requests with each push that is accepted, until it is the configured one again. */
const recovery = 0.9

/** Lets requests start at an even pace, never faster than configured, and slower for a while when the service says 429. */
export class Pacer {
  readonly #time: Time
  readonly #configuredMs: number
  #intervalMs: number
  #lastMs = Number.NEGATIVE_INFINITY

  constructor(time: Time, perSecond: number) {
    this.#time = time
    this.#configuredMs = 1000 / perSecond
    this.#intervalMs = this.#configuredMs
  }

  /** Pause between two requests as it is configured. */
  get intervalMs(): number {
    return this.#configuredMs
  }

  /** Resolves when the next request may start. Rejects with the signal's reason. */
  async turn(signal: AbortSignal): Promise<void> {
    const nowMs = this.#time.steadyMs()
    const startMs = Math.max(nowMs, this.#lastMs + this.#intervalMs)
    this.#lastMs = startMs
    if (startMs > nowMs) await this.#time.sleep(Math.ceil(startMs - nowMs), signal)
  }

  /** The service says that it is asked too often. */
  slow(): void {
    const doubledMs = Math.max(this.#intervalMs * 2, 1)
    this.#intervalMs = Math.max(this.#configuredMs, Math.min(doubledMs, slowedIntervalMsMax))
  }

  /** The service has accepted something. */
  quicken(): void {
    this.#intervalMs = Math.max(this.#configuredMs, this.#intervalMs * recovery)
  }
}
