import { type ClockVerdict, offSentence } from '../model/clock.ts'
import { clockReportMs, witnessWaitMs } from '../model/clock-limits.ts'
import type { DestinationState } from '../outbox/contract/destination.ts'

/** Input of `clockSentences`. */
interface ClockSeen {
  readonly clock?: ClockVerdict
  readonly destinations: readonly Pick<DestinationState, 'skewMs'>[]
  readonly nowMs: number
  readonly startedAtMs: number
}

/**
 * Why this machine's clock is unreliable; empty when it is not. Without a clock watch, by the skew of the service's
 * last answers. Right after a start a missing confirmation is not reported.
 */
export function clockSentences({ clock, destinations, nowMs, startedAtMs }: ClockSeen): string[] {
  if (clock?.kind === 'doubted') {
    const upMs = nowMs - startedAtMs
    // The start is in the future if the clock was set back since.
    const isStarting = upMs >= 0 && upMs < witnessWaitMs
    return clock.why === 'unconfirmed' && isStarting ? [] : [clock.reason]
  }
  if (clock) return clock.remark === undefined ? [] : [clock.remark]
  const skewsMs = destinations.flatMap(({ skewMs }) => skewMs ?? [])
  const offMs = skewsMs.find(skewMs => Math.abs(skewMs) > clockReportMs)
  return offMs === undefined ? [] : [`${offSentence(offMs)}, when it was asked last: set it right`]
}
