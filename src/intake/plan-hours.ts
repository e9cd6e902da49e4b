import type { CollectorConfig } from '../config/config.ts'
import { Fault } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import { hourMs } from '../model/limits.ts'
import type { Collections } from '../outbox/collections.ts'
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

/** Why an hour of a collector without history cannot be had any more. */
export const passed = new Fault('hour-passed', 'not collected in its hour, and this collector can only read "now"')

function tooOld(catchUpMs: number): Fault {
  return new Fault('hour-too-old', `older than the ${catchUpMs / hourMs} h that are caught up by themselves`, {
    fix: 'tidegauge backfill collects it',
  })
}

/**
 * Makes rows of the hours that are expected of a collector by now, and gaps of those that cannot be had any more. None is
 * expected before its start.
 *
 * @returns how many became gaps
 */
export function planHours(
  collections: Collections,
  { collector, history, current, catchUpMs, planned }: Planned,
): number {
  const { id, since } = collector
  if (since !== undefined && since > current) return 0
  const start = history && since !== undefined && since < current ? since : current
  collections.addCollector(id, start)
  const first = collections.since(id) ?? start
  const hasFirst = planned !== undefined || collections.states(id, first, first).size > 0
  const newest = hasFirst ? collections.lastInRow(id, planned) : undefined
  const hours = expectedHours({ since: first, current, catchUpMs, ...(newest === undefined ? {} : { newest }) })
  collections.expect(id, hours)
  collections.reopen(id, current)
  if (!history) return collections.closeBefore(id, current, passed)
  return collections.closeBefore(id, oldestCaughtUp(current, catchUpMs), tooOld(catchUpMs))
}
