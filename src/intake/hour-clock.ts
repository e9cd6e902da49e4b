import type { Time } from '../edge/time.ts'
import { isPossible } from '../model/clock.ts'
import { Fault } from '../model/fault.ts'
import { type Hour, hourAt } from '../model/hour.ts'
import type { CollectorDescription } from '../runner/runner.ts'
import { canCollect, hourPassed } from './can-collect.ts'
import type { EarliestNow } from './cautious-time.ts'

/** The current hour, as far as it is known. */
export interface HourClock extends EarliestNow {
  /** The current hour; `undefined` while the clock is not believed, or others disagree about the hour. */
  readonly hour: Hour | undefined
  /** Registers a listener for when the clock is believed, again or for the first time. */
  onBelieved(listener: () => void): void
}

/** Why a value of the present is not stored: the hour stays due. */
const hourUnknown = new Fault('clock-doubted', 'the current hour is unknown: this machine’s clock is doubted', {
  fix: 'tidegauge status says why',
})

/** Why a collector must not be asked for an hour, or its answer not be used; `undefined` where it may. */
export function objection(
  { hour: now }: HourClock,
  description: Pick<CollectorDescription, 'history'>,
  hour: Hour,
): Fault | undefined {
  if (canCollect(hour, now, description)) return undefined
  return now === undefined ? hourUnknown : hourPassed
}

/** The machine's clock, without anything to compare it with. */
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
