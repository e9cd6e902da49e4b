import { setImmediate } from 'node:timers/promises'
import { type Hour, hourAfter, hourAt } from '../model/hour.ts'
import type { OldestHours } from '../outbox/contract/status-store.ts'
import { hourStates } from './hour-states.ts'
import { shownHours, stateOf } from './observe.ts'
import type { Observed } from './observed.ts'
import { latenessWanted } from './readiness.ts'
import type { HourGrid, Snapshot } from './snapshot.ts'

/** Input of `/metrics`: a snapshot without widgets and without reasons of hours. */
export interface Scrape extends Omit<Snapshot, 'protocols' | 'week'> {
  readonly ages: HourAges
}

/** Hours whose age is reported, however old they are. */
export interface HourAges {
  /** The oldest hour in each state that should pass; `undefined` when there is none. */
  readonly oldest: OldestHours
  /** The newest delivered hour of each collector; its first hour when there is none. */
  readonly newestDelivered: ReadonlyMap<string, Hour>
}

/** The present state without values: no delivered metric's row is read. */
export async function scrape(observed: Observed): Promise<Scrape> {
  const hours = await hourStates(observed)
  const ages = { oldest: await oldestOf(observed), newestDelivered: await newestDelivered(observed, hours) }
  await setImmediate()
  return {
    ...stateOf(observed, await observed.outbox.status.overview(latenessWanted(observed))),
    hours,
    ages,
  }
}

/** The oldest hours in states that should pass, including those before the grid: they are the worst. */
function oldestOf({ config, outbox, nowMs }: Observed): Promise<HourAges['oldest']> {
  const ids = config.protocols.flatMap(({ collectors }) => collectors.map(({ id }) => id))
  const protocolIds = config.protocols.map(({ id }) => id)
  return outbox.status.oldestHours(ids, protocolIds, hourAt(nowMs))
}

/**
 * Each collector's newest delivered hour, or its first hour if there is none. It is always reported, because alerts use
 * its age.
 */
async function newestDelivered({ outbox, nowMs, startedAtMs }: Observed, grid: HourGrid): Promise<Map<string, Hour>> {
  const shown = grid.rows.map(
    ({ collector, cells }) =>
      [collector, grid.hours[cells.findLastIndex(({ state }) => state === 'delivered')]] as const,
  )
  const others = shown.flatMap(([collector, hour]) => (hour === undefined ? [collector] : []))
  const before = hourAfter(hourAt(nowMs), -shownHours)
  const older = await outbox.status.newestDelivered(others, before, nowMs)
  // A collector that was never planned is expected from this start on.
  return new Map(shown.map(([collector, hour]) => [collector, hour ?? older.get(collector) ?? hourAt(startedAtMs)]))
}
