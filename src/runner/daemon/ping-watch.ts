import type { Time } from '../../edge/time.ts'
import type { RunnerLimits } from './limits.ts'

/** Dependencies of `PingWatch`. */
export interface PingWatchDeps {
  readonly time: Time
  readonly limits: Pick<RunnerLimits, 'pingEveryMs' | 'pingsUnansweredMax'>
  /** Whether the process has work: only then it is pinged. */
  readonly isBusy: () => boolean
  readonly ping: (number: number) => void
  /** Called when the process does not answer any more. */
  readonly silent: () => void
  /** Aborted when the process has ended. */
  readonly gone: AbortSignal
  /** Number of the last ping that it was sent before. */
  readonly lastPing: number
}

/** Pings a process while it has work, to notice that it hangs before the deadline of its runs. */
export class PingWatch {
  readonly #deps: PingWatchDeps
  #isWatching = false
  #lastPing: number
  #lastPong = 0

  constructor(deps: PingWatchDeps) {
    this.#deps = deps
    this.#lastPing = deps.lastPing
  }

  get lastPing(): number {
    return this.#lastPing
  }

  /** Watches until the process has no work. No effect while it watches. Never rejects. */
  async watch(): Promise<void> {
    if (this.#isWatching) return
    this.#isWatching = true
    const { time, limits, isBusy, ping, silent, gone } = this.#deps
    let unanswered = 0
    while (isBusy() && unanswered < limits.pingsUnansweredMax) {
      this.#lastPing += 1
      ping(this.#lastPing)
      try {
        await time.sleep(limits.pingEveryMs, gone)
      } catch {
        return
      }
      unanswered = this.#lastPong === this.#lastPing ? 0 : unanswered + 1
    }
    this.#isWatching = false
    if (unanswered >= limits.pingsUnansweredMax) silent()
  }

  /** Takes an answer. @returns what is wrong with it; `undefined` when it is valid */
  answered(ping: number): string | undefined {
    if (ping > this.#lastPing) return 'an answer to what was not asked'
    this.#lastPong = ping
    return undefined
  }
}
