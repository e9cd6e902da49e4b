import type { Time } from '../edge/time.ts'
import { isPossible } from '../model/clock.ts'
import { Fault } from '../model/fault.ts'
import { type Hour, hourAt } from '../model/hour.ts'
import type { EarliestNow } from './cautious-time.ts'
import { passed } from './plan-hours.ts'

/** Which hour it is, as far as that is known. */
export interface HourClock extends EarliestNow {
  /** The current hour; `undefined` while the clock is not believed, or those who are asked do not agree. */
  readonly hour: Hour | undefined
  /** Calls back when the clock is believed again, or for the first time. */
  onBelieved(listener: () => void): void
}

/** Why a value that was read "now" is not stored: the hour stays due. */
const hourUnknown = new Fault('clock-doubted', 'it is not known which hour it is: this machine’s clock is doubted', {
  fix: 'tidegauge status says why',
})

/**
 * Why a collector must not be asked for an hour, nor answer for it any more: what reads only "now" counts in its own hour
 * alone, and only while it is known which one that is.
 */
export function objection(clock: HourClock, { history }: { readonly history: boolean }, hour: Hour): Fault | undefined {
  if (history) return undefined
  const { hour: current } = clock
  if (current === undefined) return hourUnknown
  return hour < current ? passed : undefined
}

/** The machine's clock without anything to compare it with. */
export function uncompared(time: Pick<Time, 'nowMs'>): HourClock {
  return {
    get hour() {
      const nowMs = time.nowMs()
      return isPossible(nowMs) ? hourAt(nowMs) : undefined
    },
    get earliestMs() {
      return time.nowMs()
    },
    onBelieved() {},
  }
}
