/** Rate above which a discovered limit is dropped, in calls a second. */
const rateUnlimitedPerSecond = 10_000

/** Bounds of a rate that is learnt from refusals. */
export interface RateBounds {
  /** Floor of the rate, in calls a second. */
  readonly perSecondMin: number
  /** Time in which the rate doubles after a refusal; it doubles after each further refusal, up to the longest. */
  readonly doublesMs: number
  /** Longest time in which the rate doubles. */
  readonly doublesMsMax: number
  /** Longest retry-after that is believed. */
  readonly retryAfterMsMax: number
}

/** The rate of a server as learnt from its refusals: each halves it, and it rises again in between. */
export interface DiscoveredRate {
  /** Calls a second at the end of the last retry-after. */
  readonly perSecond: number
  /** Whether a request holds no more calls than the rate, because a request alone was too large. */
  readonly isCut: boolean
  /** End of that retry-after, in milliseconds since 1970. */
  readonly sinceMs: number
  /** Time in which the rate doubles at first, in milliseconds. */
  readonly doublesMs: number
}

/** Calls sent when a server refused. */
export interface RefusedBurst {
  /** Calls of the refused request. */
  readonly count: number
  /** Calls of the second up to it, these included. */
  readonly inSecond: number
  /** Calls of the largest recently answered request; 0 when there is none. */
  readonly answeredMax: number
  /** Whether it answered any request since its last refusal. */
  readonly isAfterAnswer: boolean
  /** Instant of the refusal, in milliseconds since 1970. */
  readonly nowMs: number
}

/**
 * The rate after a refusal: half of the calls in the second before it, or of the largest answered request. A request
 * holds fewer calls only if its size alone can be the reason: many servers count requests, not calls. A server that refuses
 * again and again as the rate rises has a limit, which is then approached more slowly. Pure.
 *
 * @param rateBefore the rate at the refusal; `undefined` when there was no limit
 * @param sinceMs end of the retry-after
 */
export function lowered(
  rateBefore: DiscoveredRate | undefined,
  refusal: RefusedBurst,
  sinceMs: number,
  { perSecondMin, doublesMs, doublesMsMax }: RateBounds,
): DiscoveredRate {
  const { count, inSecond, answeredMax, isAfterAnswer, nowMs } = refusal
  const current = rateBefore && risen(rateBefore, nowMs) < Number.POSITIVE_INFINITY ? rateBefore : undefined
  const perSecond =
    Math.min(current ? risen(current, nowMs) : Number.POSITIVE_INFINITY, Math.max(inSecond, answeredMax)) / 2
  const slower = isAfterAnswer ? 2 : 1
  return {
    perSecond: Math.max(perSecondMin, perSecond),
    isCut: (current?.isCut ?? false) || (inSecond <= count && answeredMax < count),
    sinceMs,
    doublesMs: current ? Math.min(current.doublesMs * slower, doublesMsMax) : doublesMs,
  }
}

/**
 * The rate now: it doubles, ever faster while nothing is refused, as the refusals may have been an outage of a few
 * seconds. Pure.
 *
 * @returns infinite once it is too high to be a limit
 */
export function risen({ perSecond, sinceMs, doublesMs }: DiscoveredRate, nowMs: number): number {
  const now = perSecond * 2 ** ((Math.max(0, nowMs - sinceMs) / doublesMs) ** 2)
  return now < rateUnlimitedPerSecond ? now : Number.POSITIVE_INFINITY
}
