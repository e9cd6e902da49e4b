import { setImmediate } from 'node:timers/promises'
import { type Hour, hourAfter, hourAt, hoursFrom } from '../model/hour.ts'
import type { HourOfAll } from '../outbox/contract/hours.ts'
import { overview, shownHours } from './observe.ts'
import type { Observed } from './observed.ts'
import type { CellState, HourCell, HourGrid, Snapshot } from './snapshot.ts'

/** Input of `/metrics`: a snapshot without widgets. */
export interface Scrape extends Omit<Snapshot, 'protocols'> {
  readonly ages: HourAges
}

/** Hours whose age is reported, however old they are. */
export interface HourAges {
  /** The oldest hour in each state that should pass; `undefined` when there is none. */
  readonly oldest: Readonly<Record<'due' | 'collected' | 'held', Hour | undefined>>
  /** The newest delivered hour of each collector; its first hour when there is none. */
  readonly newestDelivered: ReadonlyMap<string, Hour>
}

/** Hours read before the event loop gets a turn. */
const hoursATurn = 12

/** The present state without values: no delivered metric's row is read. */
export async function scrape(observed: Observed): Promise<Scrape> {
  const hours = await states(observed)
  const ages = { oldest: oldestOf(observed), newestDelivered: await newestDelivered(observed, hours) }
  await setImmediate()
  return {
    ...overview(observed),
    hours,
    ages,
  }
}

async function states({ config, outbox, nowMs }: Observed): Promise<HourGrid> {
  const current = hourAt(nowMs)
  const hours = hoursFrom(hourAfter(current, 1 - shownHours), current)
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  const ids = collectors.map(({ id }) => id)
  const look = outbox.hourStates.reader(ids, hourAfter(current, 1 - shownHours), current)
  const looks: HourOfAll[] = []
  for (const [index, hour] of hours.entries()) {
    if (index % hoursATurn === hoursATurn - 1) await setImmediate()
    looks.push(look(hour))
  }
  await setImmediate()
  const rows = collectors.map(({ id, protocolId }, place) => ({
    collector: id,
    protocolId,
    cells: looks.map(hour => cells[stateOf(place, hour)]),
  }))
  return { hours, rows }
}

/** The worst state of an hour. */
function stateOf(place: number, hour: HourOfAll): CellState {
  const row = hour.stateOf(place)
  if (row === undefined) return 'unexpected'
  if (row !== 'collected') return row
  if (hour.has(place, 'dead')) return 'dead'
  if (hour.has(place, 'held')) return 'held'
  return hour.has(place, 'due') ? 'collected' : 'delivered'
}

/** The oldest hours in states that should pass, including those before the grid: they are the worst. */
function oldestOf({ config, outbox, nowMs }: Observed): HourAges['oldest'] {
  const current = hourAt(nowMs)
  const ids = config.protocols.flatMap(({ collectors }) => collectors.map(({ id }) => id))
  const protocolIds = config.protocols.map(({ id }) => id)
  return {
    due: outbox.expectedHours
      .lateOf(ids, current)
      .reduce<Hour | undefined>((least, { oldest }) => (least && least < oldest ? least : oldest), undefined),
    collected: outbox.due.hour('oldest', protocolIds, current),
    held: outbox.detained.oldestHeld(protocolIds),
  }
}

/**
 * Each collector's newest delivered hour, or its first hour if there is none. It is always reported, because alerts use
 * its age.
 */
async function newestDelivered({ outbox, nowMs, startedAtMs }: Observed, grid: HourGrid): Promise<Map<string, Hour>> {
  const found = new Map<string, Hour>()
  for (const { collector, cells } of grid.rows) {
    const shown = grid.hours[cells.findLastIndex(({ state }) => state === 'delivered')]
    if (shown === undefined) await setImmediate()
    const before = hourAfter(hourAt(nowMs), -shownHours)
    // A collector that was never planned is expected from this start on.
    const hour = shown ?? outbox.deliveredHours.newest(collector, before, nowMs) ?? hourAt(startedAtMs)
    found.set(collector, hour)
  }
  return found
}

/** Attempts and faults are not exposed. */
const cells: Readonly<Record<CellState, HourCell>> = {
  due: { state: 'due', attempts: 0 },
  collected: { state: 'collected', attempts: 0 },
  delivered: { state: 'delivered', attempts: 0 },
  gap: { state: 'gap', attempts: 0 },
  dead: { state: 'dead', attempts: 0 },
  held: { state: 'held', attempts: 0 },
  unexpected: { state: 'unexpected', attempts: 0 },
}
