import type { Pin } from '../../model/block.ts'
import { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { Accepted } from '../../outbox/metrics.ts'
import type { Outcome } from '../../runner/runner.ts'
import { hourFault, type PastOf, validate } from '../validate.ts'
import type { Work } from './work.ts'

/** What a run came to, validated. */
export interface Read {
  readonly accepted: readonly Accepted[]
  readonly pins: readonly Pin[]
  /** Why it is not complete. */
  readonly fault?: Fault
}

const passed = new Fault('hour-passed', 'the hour passed while it was read, and this collector reads only "now"')

/** Validates what a run gave. */
export function readHour(
  { collector, description }: Work,
  hour: Hour,
  outcome: Outcome | Fault | undefined,
  pastOf: PastOf,
  current: Hour,
): Read {
  if (!outcome || outcome instanceof Fault) return { accepted: [], pins: [], ...(outcome && { fault: outcome }) }
  if (!description.history && hour < current) return { accepted: [], pins: [], fault: passed }
  const { accepted, failures } = validate(collector, hour, description, outcome, pastOf)
  const fault = hourFault(failures)
  return { accepted, pins: outcome.pins, ...(fault && { fault }) }
}
