import { rateDoublesMs, rateDoublesMsMax, ratePerSecondMin, rateUnlimitedPerSecond } from '../limits.ts'

/** What a node's refusal taught of its limits. */
export interface FoundRate {
  /** Calls a second, and in one request, right after the wait that it asked for. */
  readonly perSecond: number
  readonly atOnce: number
  /** When that wait was over: milliseconds since 1970. */
  readonly sinceMs: number
  /** The time in which they double at first. */
  readonly doublesMs: number
}

/** What was sent when a node refused. */
export interface RefusedBurst {
  /** Calls of the refused request. */
  readonly count: number
  /** Calls of the second up to it, these included. */
  readonly inSecond: number
  /** Most calls of one second that the node answered lately. */
  readonly answeredInSecondMax: number
  /** Whether it answered anything since it refused before. */
  readonly isAfterAnswer: boolean
  readonly nowMs: number
}

/**
 * Half of what the node had in the second up to the request that it refused, or of what it took in one lately. Fewer
 * calls go in one request only where that alone can be why: many nodes count requests, not calls. Pure.
 *
 * @param before what was known when it refused
 * @param sinceMs when the wait that it asks for is over
 */
export function lowered(before: FoundRate | undefined, refusal: RefusedBurst, sinceMs: number): FoundRate {
  const { count, inSecond, answeredInSecondMax, isAfterAnswer, nowMs } = refusal
  const known = before && risen(before, nowMs)
  const perSecond = Math.min(known?.perSecond ?? Infinity, Math.max(inSecond, answeredInSecondMax)) / 2
  const isAlone = inSecond <= count && answeredInSecondMax < count
  const atOnce = isAlone ? Math.min(known?.atOnce ?? Infinity, Math.max(1, Math.ceil(count / 2))) : known?.atOnce
  return {
    perSecond: Math.max(ratePerSecondMin, perSecond),
    atOnce: atOnce ?? Infinity,
    sinceMs,
    doublesMs: doublesMsAfter(before, known, isAfterAnswer),
  }
}

/** A node that refuses again and again as the rate rises has a limit: it is neared more slowly each time. */
function doublesMsAfter(before: FoundRate | undefined, known: RisenRate | undefined, isAfterAnswer: boolean): number {
  if (!before || known?.perSecond === Infinity) return rateDoublesMs
  return isAfterAnswer ? Math.min(before.doublesMs * 2, rateDoublesMsMax) : before.doublesMs
}

/** A found rate as it is now; infinite once it is none any more. */
export interface RisenRate {
  readonly perSecond: number
  readonly atOnce: number
}

/** It doubles, and ever faster for as long as nothing is refused: it may have been an outage of a few seconds. Pure. */
export function risen({ perSecond, atOnce, sinceMs, doublesMs }: FoundRate, nowMs: number): RisenRate {
  const factor = 2 ** ((Math.max(0, nowMs - sinceMs) / doublesMs) ** 2)
  if (perSecond * factor >= rateUnlimitedPerSecond) return { perSecond: Infinity, atOnce: Infinity }
  return { perSecond: perSecond * factor, atOnce: Math.floor(atOnce * factor) }
}
