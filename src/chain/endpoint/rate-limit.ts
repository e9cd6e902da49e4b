import { backoffMs } from '../../model/backoff.ts'
import type { Time } from '../../time.ts'
import {
  endpointRestMsMax,
  rateBackoffBaseMs,
  rateBackoffCapMs,
  rateDoublesMs,
  rateUnlimitedPerSecond,
} from '../limits.ts'

/** Calls of this time back count when a node says that they were too many. */
const windowMs = 1_000

/** Calls that are sent at an instant. */
interface Turn {
  readonly atMs: number
  readonly count: number
}

/**
 * How often a node may be asked, in calls a second: as configured, else without a limit until it refuses. Then half of
 * what was sent in the last second, and from then on twice as much with each minute without a refusal.
 */
export class RateLimit {
  readonly #time: Time
  readonly #configured: number
  #lowered: { readonly perSecond: number; readonly sinceMs: number } | undefined
  #notBeforeMs = 0
  #refusalsInRow = 0
  #waiting = 0
  /** Of the last second, and those to come; in the order of their instants. */
  #turns: Turn[] = []

  constructor(time: Time, callsPerSecondMax: number | undefined) {
    this.#time = time
    this.#configured = callsPerSecondMax ?? Number.POSITIVE_INFINITY
  }

  /** The rate now; infinite when there is none. */
  get callsPerSecondMax(): number {
    if (!this.#lowered) return this.#configured
    const { perSecond, sinceMs } = this.#lowered
    const raised = perSecond * 2 ** (Math.max(0, this.#time.nowMs() - sinceMs) / rateDoublesMs)
    return Math.min(raised >= rateUnlimitedPerSecond ? Number.POSITIVE_INFINITY : raised, this.#configured)
  }

  /** Calls that may go in one request: those of a second. */
  get callsAtOnceMax(): number {
    return Math.max(1, Math.floor(this.callsPerSecondMax))
  }

  /** The node asked for patience up to this instant, in milliseconds since 1970; in the past when it did not. */
  get notBeforeMs(): number {
    return this.#notBeforeMs
  }

  /** Refusals since the last answer; those of requests under way at the same time count once. */
  get refusalsInRow(): number {
    return this.#refusalsInRow
  }

  /** Whether somebody waits here: then it is not the node that is silent. */
  get isWaitedFor(): boolean {
    return this.#waiting > 0
  }

  /**
   * Waits until so many calls may be sent: no second sees more than the rate. Rejects with the signal's reason.
   *
   * @returns whether they may be sent now; not when the node refused others meanwhile, as the rate is another one then
   */
  async admitted(count: number, signal: AbortSignal): Promise<boolean> {
    const nowMs = this.#time.nowMs()
    const lowered = this.#lowered
    const turn = { atMs: this.#startMs(count, nowMs), count }
    this.#turns.push(turn)
    if (turn.atMs <= nowMs) return true
    this.#waiting++
    try {
      await this.#time.sleep(turn.atMs - nowMs, signal)
      if (lowered === this.#lowered) return true
      this.#forget(turn)
      return false
    } catch (error) {
      this.#forget(turn)
      throw error
    } finally {
      this.#waiting--
    }
  }

  /** The first instant at which so many calls fit, after all that were admitted before. */
  #startMs(count: number, nowMs: number): number {
    const rate = this.callsPerSecondMax
    // A single call may take more than a second of the rate.
    const spanMs = Math.max(windowMs, (count * 1000) / rate)
    this.#turns = this.#turns.filter(({ atMs }) => atMs > nowMs - spanMs)
    let startMs = Math.max(nowMs, this.#notBeforeMs, this.#turns.at(-1)?.atMs ?? 0)
    let used = this.#turns.reduce((sum, turn) => sum + turn.count, 0)
    for (const turn of this.#turns) {
      const isPast = turn.atMs <= startMs - spanMs
      if (!isPast && used + count <= Math.max(rate, count)) break
      if (!isPast) startMs = turn.atMs + spanMs
      used -= turn.count
    }
    return startMs
  }

  #forget(turn: Turn): void {
    this.#turns = this.#turns.filter(one => one !== turn)
  }

  /** The node refused calls because they were too many in a time. @param retryAtMs when it may be asked again */
  refused(retryAtMs: number | undefined): void {
    const nowMs = this.#time.nowMs()
    const untilMs = retryAtMs === undefined ? undefined : Math.min(retryAtMs, nowMs + endpointRestMsMax)
    // Several requests under way are refused for the same reason: that counts once.
    if (nowMs < this.#notBeforeMs) {
      this.#notBeforeMs = Math.max(this.#notBeforeMs, untilMs ?? 0)
      return
    }
    const last = this.#turns.filter(({ atMs }) => atMs > nowMs - windowMs && atMs <= nowMs)
    const sent = last.reduce((sum, { count }) => sum + count, 0)
    const perSecond = Math.max(Math.min(1, this.#configured), Math.min(this.callsPerSecondMax, sent) / 2)
    this.#lowered = { perSecond, sinceMs: nowMs }
    this.#refusalsInRow++
    this.#notBeforeMs = Math.max(untilMs ?? nowMs + this.#backoffMs(), nowMs + 1)
  }

  #backoffMs(): number {
    const backoff = { baseMs: rateBackoffBaseMs, capMs: rateBackoffCapMs }
    return rateBackoffBaseMs / 2 + backoffMs(backoff, this.#refusalsInRow, this.#time.chance())
  }

  /** The node answered. */
  answered(): void {
    this.#refusalsInRow = 0
  }
}
