import { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { RunOutcome } from '../../runner/runner.ts'
import { type Collected, checked, nothing } from '../collect.ts'
import type { PastOf } from '../validate.ts'
import type { Work } from './work.ts'

const passed = new Fault('hour-passed', 'the hour passed while it was read, and this collector reads only "now"')

/** Validates the result of a run. */
export function readHour(
  { collector, description }: Work,
  hour: Hour,
  outcome: RunOutcome | Fault,
  pastOf: PastOf,
  current: Hour,
): Collected {
  if (outcome instanceof Fault) return nothing(outcome)
  if (!description.history && hour < current) return nothing(passed)
  return checked(collector, description, hour, outcome, pastOf)
}
