import { type Hour, hourAfter, hourAt } from '../model/hour.ts'
import type { Metric } from '../model/metric.ts'
import type { DiskSpace } from '../outbox/contract/health.ts'
import type { LateCollector } from '../outbox/contract/hours.ts'
import type { MetricState } from '../outbox/contract/metrics.ts'
import type { GapCount, OldestHours, Overview } from '../outbox/contract/status-store.ts'
import type { Counters, DeliveryState } from '../telemetry/counters.ts'
import { lookAtFleet } from './fleet.ts'
import { hourStates } from './hour-states.ts'
import { shownHours, stateOf } from './observe.ts'
import type { Observed } from './observed.ts'
import { latenessWanted } from './readiness.ts'
import type { HourGrid, Snapshot } from './snapshot.ts'

/** Input of `/metrics`: a snapshot without widgets and without reasons of hours. */
export interface Scrape extends Omit<Snapshot, 'protocols' | 'week'> {
  readonly ages: HourAges
  /** Overdue hours of collectors. */
  readonly late: readonly LateCollector[]
  /** Gaps among the hours of the grid. */
  readonly gaps: readonly GapCount[]
  /** The newest values, of the last three hours. */
  readonly values: readonly Metric[]
  /** Delivery with each key. */
  readonly gates: readonly DestinationGate[]
  readonly disk: { readonly isFull: boolean; readonly room: DiskSpace | undefined }
  /** Absent without a clock watch. */
  readonly isClockBelieved?: boolean
  readonly counters: Counters
}

/** State of delivery with one key. */
export interface DestinationGate {
  /** Name of the destination; never the key. */
  readonly destination: string
  readonly state: DeliveryState
  /** Failed flushes in a row. */
  readonly failures: number
}

/** Input of a scrape. */
export type Scraped = Observed & Pick<Scrape, 'counters'>

/** Hours whose values are exposed: an older value says nothing about the present. */
const valueHours = 3

/** States of values that are exposed: one that is held may be wrong. */
const shownStates: ReadonlySet<MetricState> = new Set(['due', 'delivered'])

/** Hours whose age is reported, however old they are. */
export interface HourAges {
  /** The oldest hour in each state that should pass; `undefined` when there is none. */
  readonly oldest: OldestHours
  /** The newest delivered hour of each collector; its first hour when there is none. */
  readonly newestDelivered: ReadonlyMap<string, Hour>
}

/** The present state. Rows of metrics are read for the newest values alone. */
export async function scrape(observed: Scraped): Promise<Scrape> {
  const { config, outbox, nowMs, clock, counters } = observed
  const hours = await hourStates(observed)
  const ages = { oldest: await oldestOf(observed), newestDelivered: await newestDelivered(observed, hours) }
  const current = hourAt(nowMs)
  const newest = await outbox.status.newest(hourAfter(current, 1 - valueHours), current)
  const configured = new Set(config.protocols.map(({ id }) => id))
  const ids = hours.rows.map(({ collector }) => collector)
  const gaps = await outbox.status.gapCounts(ids, hourAfter(current, 1 - shownHours), current)
  const overview = await outbox.status.overview(latenessWanted(observed))
  return {
    ...stateOf(observed, overview, await lookAtFleet(observed)),
    hours,
    ages,
    values: newest.filter(({ state, protocolId }) => shownStates.has(state) && configured.has(protocolId)),
    gaps,
    late: overview.late,
    gates: gatesOf(observed, overview),
    disk: { isFull: outbox.health.fullSentence !== undefined, room: outbox.health.room },
    ...(clock && { isClockBelieved: clock.kind === 'trusted' }),
    counters,
  }
}

/** Before its first flush, a destination's state is the one that an earlier process has stored. */
function gatesOf({ destinations, counters }: Scraped, { destinations: states }: Overview): DestinationGate[] {
  return destinations.map((destination, place) => {
    const failures = states[place]?.failures ?? 0
    const state = counters.gates.get(destination) ?? (failures > 0 ? 'unavailable' : 'open')
    return { destination, state, failures }
  })
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
