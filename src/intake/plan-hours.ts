import type { CollectorConfig } from '../config/config.ts'
import { Fault } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import { commitRowsMax, hourMs } from '../model/limits.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { ExpectedHours } from '../outbox/tables/expected-hours.ts'
import { hoursWithoutRow, oldestCaughtUp } from './expected.ts'

/** Whose hours are planned. */
export interface Planned {
  readonly collector: Pick<CollectorConfig, 'id' | 'since'>
  /** Whether it can read the past. */
  readonly history: boolean
  readonly current: Hour
  /** How far back missed hours are caught up. */
  readonly catchUpMs: number
}

/** Where hours are planned. */
export type PlannedIn = Pick<Outbox, 'expectedHours' | 'repair' | 'commit'>

/** Why an hour of a collector without history cannot be had any more. */
export const passed = new Fault('hour-passed', 'not collected in its hour, and this collector can only read "now"')

function tooOld(catchUpMs: number): Fault {
  return new Fault('hour-too-old', `older than the ${catchUpMs / hourMs} h that are caught up by themselves`, {
    fix: 'tidegauge backfill collects it',
  })
}

/**
 * Makes rows of the hours that are expected of a collector by now, and gaps of those that cannot be had any more. None is
 * expected before its start, nor after the current hour. Collectors that are planned in the same turn share commits; more
 * than a commit may hold is planned in parts.
 *
 * @returns how many became gaps
 */
export async function planHours(outbox: PlannedIn, planning: Planned): Promise<number> {
  const { collector, current } = planning
  if (collector.since !== undefined && collector.since > current) return 0
  for (;;) {
    const gaps = await outbox.commit(() => planSome(outbox, planning), rowsToPlan(outbox.expectedHours, planning))
    if (gaps !== undefined) return gaps
  }
}

/** Within a transaction. @returns how many became gaps; `undefined` when there is more to be planned */
function planSome({ expectedHours, repair }: PlannedIn, planning: Planned): number | undefined {
  const { collector, history, current, catchUpMs } = planning
  const { id, since } = collector
  const oldest = oldestWanted(planning)
  if (repair.withdrawSome(id, current)) return undefined
  begin(expectedHours, id, current, history ? since : undefined)
  const hours = missing(expectedHours, planning)
  if (hours.length > 0) expectedHours.expect(id, hours.slice(0, commitRowsMax))
  if (hours.length > commitRowsMax) return undefined
  repair.reopenTooOld(id, oldest)
  expectedHours.reopen(id, current)
  return expectedHours.closeBefore(id, oldest, history ? tooOld(catchUpMs) : passed)
}

/** The oldest hour that a collector is still collected for by itself. */
export function oldestWanted({ history, current, catchUpMs }: Planned): Hour {
  return history ? oldestCaughtUp(current, catchUpMs) : current
}

/** What planning a collector costs beside its hours, as rows. */
const rowsAPlan = 4

/** How many rows planning is about to write. */
function rowsToPlan(expectedHours: ExpectedHours, planning: Planned): number {
  return rowsAPlan + Math.min(missing(expectedHours, planning).length, commitRowsMax)
}

/**
 * Makes a collector known, expected from the current hour on. The start of a known one moves back for a configured hour
 * alone: a clock that is behind for a minute would else move it by decades. A start that is yet to come, and of which
 * there is nothing, is of a clock that was ahead.
 *
 * @param configured the hour that the configuration says
 */
export function begin(expectedHours: ExpectedHours, id: string, current: Hour, configured?: Hour): void {
  const known = expectedHours.since(id)
  const isToCome = known !== undefined && known > current && expectedHours.states(id, known, known).size === 0
  if (configured !== undefined && configured < current) expectedHours.addCollector(id, configured)
  else if (known === undefined || isToCome) expectedHours.addCollector(id, current)
}

function missing(expectedHours: ExpectedHours, { collector, current }: Planned): Hour[] {
  const newest = expectedHours.lastWithoutHole(collector.id)
  const since = expectedHours.since(collector.id) ?? collector.since ?? current
  return hoursWithoutRow({ since, current, ...(newest === undefined ? {} : { newest }) })
}
