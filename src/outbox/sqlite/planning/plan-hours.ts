import { type Hour, hourAfter, hoursFrom } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import type { HourPlan } from '../../contract/hours.ts'
import type { ExpectedHours } from '../tables/expected-hours.ts'
import type { OutboxTables } from '../tables/outbox-tables.ts'

/** The tables that planning writes. */
export type PlannedIn = Pick<OutboxTables, 'expectedHours' | 'writer'>

/** As `IntakeStore.planHours`. More rows than a commit may hold are written in parts. */
export async function planHours(tables: PlannedIn, plan: HourPlan): Promise<number> {
  for (;;) {
    const gaps = await tables.writer.commit(() => planSome(tables, plan), rowsToPlan(tables.expectedHours, plan))
    if (gaps !== undefined) return gaps
  }
}

/** Plans one part. Within a transaction. @returns how many became gaps; `undefined` when there is more to plan */
function planSome({ expectedHours }: PlannedIn, plan: HourPlan): number | undefined {
  const { collector, current, oldest, since, gapReason } = plan
  if (expectedHours.withdrawSome(collector, current)) return undefined
  begin(expectedHours, collector, current, since)
  const hours = missing(expectedHours, plan)
  if (hours.length > 0) expectedHours.expect(collector, hours.slice(0, commitRowsMax))
  if (hours.length > commitRowsMax) return undefined
  expectedHours.reopenTooOld(collector, oldest)
  expectedHours.reopen(collector, current)
  return expectedHours.closeBefore(collector, oldest, gapReason)
}

/** Rows written for each collector apart from its hours. */
const rowsAPlan = 4

/** Estimated number of rows that planning will write. */
function rowsToPlan(expectedHours: ExpectedHours, plan: HourPlan): number {
  return rowsAPlan + Math.min(missing(expectedHours, plan).length, commitRowsMax)
}

/**
 * Inserts a collector, expected from the current hour on. The start of a known one moves back only to a configured
 * hour: otherwise a clock that is behind for a minute would move it by decades. A future start without any rows was
 * written by a clock that was ahead, and is replaced.
 *
 * @param configured first hour by the configuration
 */
export function begin(expectedHours: ExpectedHours, id: string, current: Hour, configured?: Hour): void {
  const known = expectedHours.since(id)
  const isToCome = known !== undefined && known > current && expectedHours.states(id, known, known).size === 0
  if (configured !== undefined && configured < current) expectedHours.addCollector(id, configured)
  else if (known === undefined || isToCome) expectedHours.addCollector(id, current)
}

function missing(expectedHours: ExpectedHours, { collector, since: configured, current }: HourPlan): Hour[] {
  const newest = expectedHours.lastWithoutHole(collector)
  const since = expectedHours.since(collector) ?? configured ?? current
  return hoursWithoutRow(since, newest, current)
}

/**
 * Hours that must have a row and have none yet: all since the collector's start, or since the end of its unbroken run.
 *
 * @param newest end of the run; `undefined` if the first hour has no row
 */
export function hoursWithoutRow(since: Hour, newest: Hour | undefined, current: Hour): Hour[] {
  return hoursFrom(newest === undefined ? since : hourAfter(newest, 1), current)
}
