import { rateDoublesMs, rateDoublesMsMax, ratePerSecondMin, rateUnlimitedPerSecond } from '../limits.ts'

/** What a node's refusals taught of its rate: halved by each, and rising again in between. */
export interface DiscoveredRate {
  /** Calls a second right after the wait that it asked for. */
  readonly perSecond: number
  /** Whether a request holds no more calls than the rate: one was refused that was too large alone. */
  readonly isCut: boolean
  /** When that wait was over: milliseconds since 1970. */
  readonly sinceMs: number
  /** The time in which the rate doubles at first. */
  readonly doublesMs: number
}

/** What was sent when a node refused. */
export interface RefusedBurst {
  /** Calls of the refused request. */
  readonly count: number
  /** Calls of the second up to it, these included. */
  readonly inSecond: number
  /** Calls of the largest request that the node answered; 0 where that was long ago. */
  readonly answeredMax: number
  /** Whether it answered anything since it refused before. */
  readonly isAfterAnswer: boolean
  readonly nowMs: number
}

/**
 * Half of what the node had in the second up to the request that it refused, or of what it took in one request. Fewer calls
 * go in one request only where that alone can be why: many nodes count requests, not calls. A node that refuses again and
 * again as the rate rises has a limit: it is neared more slowly each time. Pure.
 *
 * @param before what was known when it refused
 * @param sinceMs when the wait that it asks for is over
 */
export function lowered(before: DiscoveredRate | undefined, refusal: RefusedBurst, sinceMs: number): DiscoveredRate {
  const { count, inSecond, answeredMax, isAfterAnswer, nowMs } = refusal
  const known = before && risen(before, nowMs) < Infinity ? before : undefined
  const perSecond = Math.min(known ? risen(known, nowMs) : Infinity, Math.max(inSecond, answeredMax)) / 2
  const slower = isAfterAnswer ? 2 : 1
  return {
    perSecond: Math.max(ratePerSecondMin, perSecond),
    isCut: (known?.isCut ?? false) || (inSecond <= count && answeredMax < count),
    sinceMs,
    doublesMs: known ? Math.min(known.doublesMs * slower, rateDoublesMsMax) : rateDoublesMs,
  }
}

/**
 * The rate now: it doubles, and ever faster for as long as nothing is refused, as it may have been an outage of a few
 * seconds. Pure.
 *
 * @returns infinite once it is so high that it is no limit any more
 */
export function risen({ perSecond, sinceMs, doublesMs }: DiscoveredRate, nowMs: number): number {
  const now = perSecond * 2 ** ((Math.max(0, nowMs - sinceMs) / doublesMs) ** 2)
  return now < rateUnlimitedPerSecond ? now : Infinity
}
