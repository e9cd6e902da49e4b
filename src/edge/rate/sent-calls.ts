/** The second of a rate, plus a millisecond because clocks truncate, and the longest way of a request to the server. */
const rateWindowMs = 1_001
const rateTransitMsMax = 500

/** Time for which the calls that a server answered in a second are remembered. */
const rateHistoryMs = 10_000

/** A request that was admitted, and sent. */
export interface AdmittedRequest {
  /** Number of its calls. */
  readonly count: number
  /** When it was sent, in milliseconds since 1970. */
  readonly sentMs: number
  /** When the server had finished with it, in milliseconds since 1970; undefined while it is under way. */
  endedMs?: number
}

/** The calls recently sent to a server, in order. */
export class SentCalls {
  #requests: AdmittedRequest[] = []

  /** Records that a request is sent now. */
  add(request: AdmittedRequest): void {
    const keptMs = request.sentMs - rateHistoryMs
    const first = this.#requests.findIndex(({ sentMs }) => sentMs >= keptMs)
    if (first > 0) this.#requests.splice(0, first)
    this.#requests.push(request)
  }

  /**
   * Wait until this many calls keep within the rate, in milliseconds: 0 when they do now, else when to look again. A
   * request larger than the rate of a second waits until no earlier one counts, and itself counts longer.
   *
   * @param fromMs requests sent up to then, under another rate, count for only a second
   */
  waitMs(count: number, perSecond: number, nowMs: number, fromMs: number): number {
    // Without a limit the calls of the last seconds need not be counted.
    if (perSecond === Number.POSITIVE_INFINITY) return 0
    let callsInSecond = 0
    for (const request of this.#requests.toReversed()) {
      const countsMs =
        request.sentMs > fromMs ? Math.max(rateWindowMs, (request.count * 1000) / perSecond) : rateWindowMs
      const untilMs = countsUntilMs(request, countsMs, nowMs)
      if (untilMs <= nowMs) continue
      callsInSecond += request.count
      if (callsInSecond + count > perSecond) return Math.ceil(untilMs - nowMs)
    }
    return 0
  }

  /** Calls of the second up to a request. */
  inSecondOf({ sentMs }: AdmittedRequest): number {
    const requests = this.#requests.filter(request => request.sentMs > sentMs - 1000 && request.sentMs <= sentMs)
    return requests.reduce((calls, { count }) => calls + count, 0)
  }
}

/** The server counts a request when it arrives, some time between sending and answer. */
function countsUntilMs({ sentMs, endedMs }: AdmittedRequest, countsMs: number, nowMs: number): number {
  if (endedMs !== undefined) return Math.min(endedMs, sentMs + rateTransitMsMax) + countsMs
  return sentMs + countsMs > nowMs ? sentMs + countsMs : sentMs + rateTransitMsMax + countsMs
}
