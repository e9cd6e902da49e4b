import type { Time } from '../../edge/time.ts'
import { backoffMs } from '../../model/backoff.ts'
import { endpointRestMsMax, rateBackoffBaseMs, rateBackoffCapMs, rateLookMs, rateTriesMax } from '../limits.ts'
import { type DiscoveredRate, lowered, risen } from './discovered-rate.ts'
import { Semaphore } from './semaphore.ts'
import { SentCalls, type Turn } from './sent-calls.ts'

/**
 * How often a node may be asked, in calls a second: as configured, which is never overshot, else without a limit until
 * it refuses. What is found then rises again for as long as it answers; requests keep their size, and larger ones than
 * the rate of a second go alone and are waited for longer.
 */
export class RateLimit {
  readonly #time: Time
  readonly #configured: number
  readonly #sent = new SentCalls()
  /** Those who wait go one after the other. */
  readonly #door = new Semaphore(1)
  #found: DiscoveredRate | undefined
  #refusedMs = 0
  #refusals = 0
  #notBeforeMs = 0
  #answeredMs = 0
  /** Calls of the largest request that was answered; 0 once more were refused in a row than are tried. */
  #answeredMax = 0
  #refusalsInRow = 0
  #waiting = 0

  constructor(time: Time, callsPerSecondMax: number | undefined) {
    this.#time = time
    this.#configured = callsPerSecondMax ?? Infinity
  }

  /** The rate now; infinite when there is none. */
  get callsPerSecondMax(): number {
    return Math.min(this.#found ? risen(this.#found, this.#time.nowMs()) : Infinity, this.#configured)
  }

  /** Calls that may go in one request: never more than the configured ones of a second. */
  get callsAtOnceMax(): number {
    return Math.max(1, Math.floor(this.#found?.isCut ? this.callsPerSecondMax : this.#configured))
  }

  /** The node asked for patience up to this instant, in milliseconds since 1970; in the past when it did not. */
  get notBeforeMs(): number {
    return this.#notBeforeMs
  }

  /** Refusals since the last answer; those of requests under way at the same time count once. */
  get refusalsInRow(): number {
    return this.#refusalsInRow
  }

  /** When the node answered last, in milliseconds since 1970; 0 before. */
  get answeredMs(): number {
    return this.#answeredMs
  }

  /** Whether somebody waits here: then it is not the node that is silent. */
  get isWaitedFor(): boolean {
    return this.#waiting > 0
  }

  /**
   * Waits until so many calls may be sent. Rejects with the signal's reason.
   *
   * @returns them as sent now; undefined when the node refused others meanwhile, as the rate is another one then
   */
  async admitted(count: number, signal: AbortSignal): Promise<Turn | undefined> {
    const refusals = this.#refusals
    this.#waiting++
    try {
      return await this.#door.with(signal, async () => {
        for (;;) {
          const waitMs = this.#waitMs(count)
          if (this.#refusals > refusals) return undefined
          if (waitMs <= 0) return this.#send(count)
          await this.#time.sleep(waitMs, signal)
        }
      })
    } finally {
      this.#waiting--
    }
  }

  #waitMs(count: number): number {
    const nowMs = this.#time.nowMs()
    if (nowMs < this.#notBeforeMs) return this.#notBeforeMs - nowMs
    const waitMs = this.#sent.waitMs(count, this.callsPerSecondMax, nowMs, this.#refusedMs)
    // A rate that rises is over sooner than it says.
    return this.#found ? Math.min(waitMs, rateLookMs) : waitMs
  }

  #send(count: number): Turn {
    const turn: Turn = { count, sentMs: this.#time.nowMs() }
    this.#sent.add(turn)
    return turn
  }

  /** The node answered. */
  answered(turn: Turn): void {
    this.ended(turn)
    this.#answeredMax = Math.max(this.#answeredMax, turn.count)
    this.#answeredMs = this.#time.nowMs()
    this.#refusalsInRow = 0
  }

  /** Nothing more is to be expected of the request, whatever came of it. */
  ended(turn: Turn): void {
    turn.endedMs ??= this.#time.nowMs()
  }

  /** The node refused calls because they were too many in a time. @param retryAtMs when it may be asked again */
  refused(turn: Turn, retryAtMs: number | undefined): void {
    this.ended(turn)
    const nowMs = this.#time.nowMs()
    const untilMs = retryAtMs === undefined ? undefined : Math.min(retryAtMs, nowMs + endpointRestMsMax)
    // Several requests under way are refused for the same reason: that counts once.
    if (this.#refusals > 0 && turn.sentMs <= this.#refusedMs) {
      this.#notBeforeMs = Math.max(this.#notBeforeMs, untilMs ?? 0)
      return
    }
    const isAfterAnswer = this.#refusalsInRow === 0
    this.#refusals++
    this.#refusalsInRow++
    this.#refusedMs = nowMs
    this.#notBeforeMs = Math.max(untilMs ?? nowMs + this.#backoffMs(), nowMs + 1)
    if (this.#refusalsInRow > rateTriesMax) this.#answeredMax = 0
    const inSecond = this.#sent.inSecondOf(turn)
    const refusal = { count: turn.count, inSecond, answeredMax: this.#answeredMax, isAfterAnswer, nowMs }
    this.#found = lowered(this.#found, refusal, this.#notBeforeMs)
  }

  #backoffMs(): number {
    const backoff = { baseMs: rateBackoffBaseMs, capMs: rateBackoffCapMs }
    return rateBackoffBaseMs / 2 + backoffMs(backoff, this.#refusalsInRow, this.#time.chance())
  }
}
