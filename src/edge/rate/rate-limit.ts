import { backoffMs } from '../../model/backoff.ts'
import { Semaphore } from '../semaphore.ts'
import type { Time } from '../time.ts'
import { type DiscoveredRate, lowered, type RateBounds, risen } from './discovered-rate.ts'
import { type AdmittedRequest, SentCalls } from './sent-calls.ts'

/** Refusals in a row after which a request that was answered once proves nothing any more. */
export const rateTriesMax = 4

/** Wait after a refusal for the rate that names none, doubled with each in a row up to the cap. */
const rateBackoff = { baseMs: 1_000, capMs: 60_000 } as const

/** Interval of checking whether a rising rate lets calls pass. */
const rateLookMs = 250

/**
 * Limits the rate of a server, in calls a second. A configured rate is never exceeded; otherwise there is no limit until
 * the server refuses. A discovered rate rises again with time. Requests keep their size: one larger than the rate
 * of a second is sent alone, after a longer wait.
 */
export class RateLimit {
  readonly #time: Time
  readonly #bounds: RateBounds
  readonly #configured: number
  readonly #sent = new SentCalls()
  /** Waiting callers are admitted one after the other. */
  readonly #door = new Semaphore(1)
  #found: DiscoveredRate | undefined
  #refusedMs = 0
  #refusals = 0
  #notBeforeMs = 0
  #answeredMs = 0
  /** Calls of the largest answered request; 0 after too many refusals in a row. */
  #answeredMax = 0
  #refusalsInRow = 0
  #waiting = 0

  constructor(time: Time, bounds: RateBounds, callsPerSecondMax: number | undefined) {
    this.#time = time
    this.#bounds = bounds
    this.#configured = callsPerSecondMax ?? Number.POSITIVE_INFINITY
  }

  /** The rate now; infinite when there is none. */
  get callsPerSecondMax(): number {
    return Math.min(this.#found ? risen(this.#found, this.#time.nowMs()) : Number.POSITIVE_INFINITY, this.#configured)
  }

  /** Calls in one request, at most: never more than the configured rate of a second. */
  get callsAtOnceMax(): number {
    return Math.max(1, Math.floor(this.#found?.isCut ? this.callsPerSecondMax : this.#configured))
  }

  /** End of the server's retry-after, in milliseconds since 1970; in the past when there is none. */
  get notBeforeMs(): number {
    return this.#notBeforeMs
  }

  /** Refusals since the last answer; those of concurrent requests count once. */
  get refusalsInRow(): number {
    return this.#refusalsInRow
  }

  /** Instant of the server's last answer, in milliseconds since 1970; 0 before. */
  get answeredMs(): number {
    return this.#answeredMs
  }

  /** Whether a caller waits here: the server is not silent then. */
  get isWaitedFor(): boolean {
    return this.#waiting > 0
  }

  /**
   * Waits until this many calls may be sent. Rejects with the signal's reason.
   *
   * @returns the calls, as sent now; undefined when the server refused others meanwhile, because the rate has changed
   */
  async admitted(count: number, signal: AbortSignal): Promise<AdmittedRequest | undefined> {
    const refusals = this.#refusals
    this.#waiting += 1
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
    // A rising rate shortens the wait.
    return this.#found ? Math.min(waitMs, rateLookMs) : waitMs
  }

  #send(count: number): AdmittedRequest {
    const request: AdmittedRequest = { count, sentMs: this.#time.nowMs() }
    this.#sent.add(request)
    return request
  }

  /** Records that the server answered. */
  answered(request: AdmittedRequest): void {
    this.ended(request)
    this.#answeredMax = Math.max(this.#answeredMax, request.count)
    this.#answeredMs = this.#time.nowMs()
    this.#refusalsInRow = 0
  }

  /** Records that a request has ended, with or without an answer. */
  ended(request: AdmittedRequest): void {
    request.endedMs ??= this.#time.nowMs()
  }

  /**
   * Records that the server refused calls for the rate.
   *
   * @param retryAtMs its retry-after
   * @returns false when an earlier refusal already counted for calls sent as early as these
   */
  refused(request: AdmittedRequest, retryAtMs: number | undefined): boolean {
    this.ended(request)
    const nowMs = this.#time.nowMs()
    const untilMs = retryAtMs === undefined ? undefined : Math.min(retryAtMs, nowMs + this.#bounds.retryAfterMsMax)
    // Concurrent requests are refused for the same reason, which counts once.
    if (this.#refusals > 0 && request.sentMs <= this.#refusedMs) {
      this.#notBeforeMs = Math.max(this.#notBeforeMs, untilMs ?? 0)
      return false
    }
    const isAfterAnswer = this.#refusalsInRow === 0
    this.#refusals += 1
    this.#refusalsInRow += 1
    this.#refusedMs = nowMs
    this.#notBeforeMs = Math.max(untilMs ?? nowMs + this.#backoffMs(), nowMs + 1)
    if (this.#refusalsInRow > rateTriesMax) this.#answeredMax = 0
    const inSecond = this.#sent.inSecondOf(request)
    const refusal = { count: request.count, inSecond, answeredMax: this.#answeredMax, isAfterAnswer, nowMs }
    this.#found = lowered(this.#found, refusal, this.#notBeforeMs, this.#bounds)
    return true
  }

  #backoffMs(): number {
    return rateBackoff.baseMs / 2 + backoffMs(rateBackoff, this.#refusalsInRow, this.#time.chance())
  }
}
