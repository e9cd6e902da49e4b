import { type ClockVerdict, offSentence } from '../model/clock.ts'
import { clockToldMs, witnessWaitMs } from '../model/clock-limits.ts'
import type { Outbox } from '../outbox/outbox.ts'

/** What is looked at. */
interface ClockSeen {
  readonly clock?: ClockVerdict
  readonly outbox: Pick<Outbox, 'destinations'>
  readonly destinations: readonly string[]
  readonly nowMs: number
  readonly startedAtMs: number
}

/**
 * Why this machine's clock is not to be relied on; empty when it is. Where nobody looks after it, by what the service's
 * answers have shown last. Right after a start, that nothing confirms it yet is no alarm.
 */
export function clockSentences({ clock, outbox, destinations, nowMs, startedAtMs }: ClockSeen): string[] {
  if (clock?.kind === 'doubted') {
    const upMs = nowMs - startedAtMs
    // The start lies in the future where the clock was set back since.
    const isStarting = upMs >= 0 && upMs < witnessWaitMs
    return clock.why === 'unconfirmed' && isStarting ? [] : [clock.reason]
  }
  if (clock) return clock.remark === undefined ? [] : [clock.remark]
  const skewsMs = destinations.flatMap(name => outbox.destinations.get(name).skewMs ?? [])
  const offMs = skewsMs.find(skewMs => Math.abs(skewMs) > clockToldMs)
  return offMs === undefined ? [] : [`${offSentence(offMs)}, when it was asked last: set it right`]
}
