import { setImmediate } from 'node:timers/promises'
import type { CollectorConfig } from '../config/config.ts'
import { Fault } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import { commitRowsMax, hourMs } from '../model/limits.ts'
import type { Collections } from '../outbox/collections.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { expectedHours, oldestCaughtUp } from './expected.ts'

/** Whose hours are planned. */
export interface Planned {
  readonly collector: Pick<CollectorConfig, 'id' | 'since'>
  /** Whether it can read the past. */
  readonly history: boolean
  readonly current: Hour
  /** How far back missed hours are caught up. */
  readonly catchUpMs: number
  /** The hour it was last planned for, in this process. */
  readonly planned?: Hour | undefined
}

/** Where hours are planned. */
type PlannedIn = Pick<Outbox, 'collections' | 'repair'>

/** Why an hour of a collector without history cannot be had any more. */
export const passed = new Fault('hour-passed', 'not collected in its hour, and this collector can only read "now"')

function tooOld(catchUpMs: number): Fault {
  return new Fault('hour-too-old', `older than the ${catchUpMs / hourMs} h that are caught up by themselves`, {
    fix: 'tidegauge backfill collects it',
  })
}

/**
 * Makes rows of the hours that are expected of a collector by now, and gaps of those that cannot be had any more. None is
 * expected before its start, nor after the current hour. Between commits the event loop has its turn.
 *
 * @returns how many became gaps
 */
export async function planHours({ collections, repair }: PlannedIn, planning: Planned): Promise<number> {
  const { collector, history, current, catchUpMs } = planning
  const { id, since } = collector
  if (since !== undefined && since > current) return 0
  const configured = history ? since : undefined
  while (repair.withdrawSome(id, current)) await setImmediate()
  begin(collections, id, current, configured)
  const hours = missing(collections, planning)
  for (let from = 0; from < hours.length; from += commitRowsMax) {
    if (from > 0) await setImmediate()
    collections.expect(id, hours.slice(from, from + commitRowsMax))
  }
  const oldest = history ? oldestCaughtUp(current, catchUpMs) : current
  repair.reopenTooOld(id, oldest)
  collections.reopen(id, current)
  return collections.closeBefore(id, oldest, history ? tooOld(catchUpMs) : passed)
}

/**
 * Makes a collector known, expected from the current hour on. The start of a known one moves back for a configured hour
 * alone: a clock that is behind for a minute would else move it by decades. A start that is yet to come, and of which
 * there is nothing, is of a clock that was ahead.
 *
 * @param configured the hour that the configuration says
 */
export function begin(collections: Collections, id: string, current: Hour, configured?: Hour): void {
  const known = collections.since(id)
  const isToCome = known !== undefined && known > current && collections.states(id, known, known).size === 0
  if (configured !== undefined && configured < current) collections.addCollector(id, configured)
  else if (known === undefined || isToCome) collections.addCollector(id, current)
}

function missing(collections: Collections, { collector: { id }, current, catchUpMs, planned }: Planned): Hour[] {
  const first = collections.since(id) ?? current
  const from = planned !== undefined && planned <= current ? planned : undefined
  const hasFirst = from !== undefined || collections.states(id, first, first).size > 0
  const newest = hasFirst ? collections.lastInRow(id, from) : undefined
  return expectedHours({ since: first, current, catchUpMs, ...(newest === undefined ? {} : { newest }) })
}
