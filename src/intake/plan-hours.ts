import type { CollectorConfig } from '../config/config.ts'
import { Fault } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import { commitRowsMax, hourMs } from '../model/limits.ts'
import type { SqliteOutbox } from '../outbox/sqlite/sqlite-outbox.ts'
import type { ExpectedHours } from '../outbox/sqlite/tables/expected-hours.ts'
import { hourPassed, oldestCollected } from './can-collect.ts'
import { hoursWithoutRow } from './expected.ts'

/** A collector whose hours are planned. */
export interface Planned {
  readonly collector: Pick<CollectorConfig, 'id' | 'since'>
  /** Whether it can read past hours. */
  readonly history: boolean
  readonly current: Hour
  /** Catch-up range of missed hours, in milliseconds. */
  readonly catchUpMs: number
}

/** The part of the outbox that planning needs. */
export type PlannedIn = Pick<SqliteOutbox, 'expectedHours' | 'repair' | 'commit'>

function tooOld(catchUpMs: number): Fault {
  return new Fault('hour-too-old', `older than the catch-up range of ${catchUpMs / hourMs} h`, {
    fix: 'tidegauge backfill collects it',
  })
}

/**
 * Inserts the expected hours of a collector, and turns those that cannot be collected any more into gaps. None is
 * expected before the collector's start or after the current hour. Collectors planned in the same turn share commits;
 * more rows than a commit may hold are written in parts.
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

/** Plans one part. Within a transaction. @returns how many became gaps; `undefined` when there is more to plan */
function planSome({ expectedHours, repair }: PlannedIn, planning: Planned): number | undefined {
  const { collector, history, current, catchUpMs } = planning
  const { id, since } = collector
  const oldest = oldestCollected(current, planning, catchUpMs)
  if (repair.withdrawSome(id, current)) return undefined
  begin(expectedHours, id, current, history ? since : undefined)
  const hours = missing(expectedHours, planning)
  if (hours.length > 0) expectedHours.expect(id, hours.slice(0, commitRowsMax))
  if (hours.length > commitRowsMax) return undefined
  repair.reopenTooOld(id, oldest)
  expectedHours.reopen(id, current)
  return expectedHours.closeBefore(id, oldest, history ? tooOld(catchUpMs) : hourPassed)
}

/** Rows written for each collector apart from its hours. */
const rowsAPlan = 4

/** Estimated number of rows that planning will write. */
function rowsToPlan(expectedHours: ExpectedHours, planning: Planned): number {
  return rowsAPlan + Math.min(missing(expectedHours, planning).length, commitRowsMax)
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

function missing(expectedHours: ExpectedHours, { collector, current }: Planned): Hour[] {
  const newest = expectedHours.lastWithoutHole(collector.id)
  const since = expectedHours.since(collector.id) ?? collector.since ?? current
  return hoursWithoutRow({ since, current, ...(newest === undefined ? {} : { newest }) })
}
