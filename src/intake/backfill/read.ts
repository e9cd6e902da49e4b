import { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { RunOutcome } from '../../runner/runner.ts'
import { canCollect, hourPassed } from '../can-collect.ts'
import { type Collected, checked, nothing } from '../collect.ts'
import type { PastOf } from '../past.ts'
import type { Work } from './work.ts'

/** Validates the result of a run. */
export function readHour(
  { collector, description }: Work,
  hour: Hour,
  outcome: RunOutcome | Fault,
  pastOf: PastOf,
  current: Hour,
): Collected {
  if (outcome instanceof Fault) return nothing(outcome)
  if (!canCollect(hour, current, description)) return nothing(hourPassed)
  return checked(collector, description, hour, outcome, pastOf)
}
