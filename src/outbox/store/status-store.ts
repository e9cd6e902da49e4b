import { type Hour, hourAfter, hourNumber } from '../../model/hour.ts'
import type { CollectionRow, DeadOrHeldHour, HourOfAll, HourReasons } from '../contract/hours.ts'
import type { MetricCurve, StoredMetric } from '../contract/metrics.ts'
import type { Reporter, ReportStore } from '../contract/outbox.ts'
import type {
  Detail,
  GapCount,
  Lateness,
  LatenessWanted,
  OldestHours,
  Overview,
  StatusStore,
  UnresolvedCount,
} from '../contract/status-store.ts'
import { isValid, type MetricPlace, placeKey, stateNumber } from './changes.ts'
import {
  collectorNames,
  deadOrHeldHours,
  faultyRows,
  gapCounts,
  hoursOfAll,
  lateCollectors,
  newestDelivered,
  rowsBetween,
  unplannedHours,
  unresolvedCounts,
  withUnread,
} from './hours.ts'
import { allWarnings, destinationStates, reportState, saveReport } from './notes.ts'
import { sql } from './sql.ts'
import { backlogOf, deadAndHeldCounts, dueHour, dueUpTo, newestMetrics, oldestHeld, storedByPlace } from './values.ts'
import { query, type StoreDatabase, type StoreWork, together } from './work.ts'

/** Hours read together, without their values, and with them. */
const [hoursTogether, valuedHoursTogether] = [12, 1]

/** Time for which the newest delivered hour is kept of a collector that has stood still: thousands of hours are read. */
const deliveredKnownMs = 600_000

/** Hours back from the last one, up to which the newest delivered hour is read each time. */
const freshHours = 48

/** The outbox for status. */
export class StoreStatus implements StatusStore {
  readonly #database: StoreDatabase
  readonly #newestDelivered = new Map<string, { readonly hour: Hour; readonly atMs: number }>()

  constructor(database: StoreDatabase) {
    this.#database = database
  }

  lateness(wanted: LatenessWanted): Promise<Lateness> {
    return this.#database.read(() => latenessOf(wanted))
  }

  overview(wanted: LatenessWanted): Promise<Overview> {
    return this.#database.read(() => overviewOf(wanted))
  }

  async detail(wanted: LatenessWanted, from: Hour, to: Hour): Promise<Detail> {
    const overview = await this.overview(wanted)
    const rows: CollectionRow[] = []
    const values: CurveValue[] = []
    for (let hour = from; hour <= to; hour = hourAfter(hour, valuedHoursTogether)) {
      await this.#database.rest()
      const last = Math.min(to, hourAfter(hour, valuedHoursTogether - 1)) as Hour
      const [own, found] = await this.#database.read(() => together(rowsBetween(hour, last), curveValues(hour, last)))
      rows.push(...own)
      for (const value of found) values.push(value)
    }
    return { ...overview, rows, curves: await this.#database.read(() => curvesOf(values, from, to)) }
  }

  newest(from: Hour, to: Hour, withDropped = false): Promise<readonly StoredMetric[]> {
    return this.#database.read(() => newestMetrics(from, to, withDropped))
  }

  async hoursOfAll(collectors: readonly string[], from: Hour, to: Hour): Promise<readonly HourOfAll[]> {
    const hours: HourOfAll[] = []
    for (let first = from; first <= to; first = hourAfter(first, hoursTogether)) {
      if (first > from) await this.#database.rest()
      const last = Math.min(to, hourAfter(first, hoursTogether - 1)) as Hour
      hours.push(...(await this.#database.read(() => hoursOfAll(collectors, first, last))))
    }
    return hours
  }

  collectors(): Promise<readonly string[]> {
    return this.#database.readEach(collectorNames)
  }

  async reasons(from: Hour, to: Hour, limit: number): Promise<HourReasons> {
    const failures: CollectionRow[] = []
    const deadOrHeld: DeadOrHeldHour[] = []
    for (let last = to; last >= from; last = hourAfter(last, -hoursTogether)) {
      const first = Math.max(from, hourAfter(last, 1 - hoursTogether)) as Hour
      const [failedRows, deadOrHeldRows] = await this.#database.read(() =>
        together(faultyRows(first, last), deadOrHeldHours(first, last)),
      )
      for (let hour = last; hour >= first; hour = hourAfter(hour, -1)) {
        if (failures.length + deadOrHeld.length >= limit) return { failed: failures, deadOrHeld }
        failures.push(...failedRows.filter(row => row.hour === hour))
        deadOrHeld.push(...deadOrHeldRows.filter(row => row.hour === hour))
      }
      await this.#database.rest()
    }
    return { failed: failures, deadOrHeld }
  }

  unresolved(): Promise<readonly UnresolvedCount[]> {
    return this.#database.read(unresolvedCounts)
  }

  oldestHours(collectors: readonly string[], protocolIds: readonly string[], latest: Hour): Promise<OldestHours> {
    return this.#database.read(() => oldestHours(collectors, protocolIds, latest))
  }

  async newestDelivered(collectors: readonly string[], upTo: Hour, nowMs: number): Promise<ReadonlyMap<string, Hour>> {
    const newestHours = new Map<string, Hour>()
    for (const collector of collectors) {
      const memory = this.#newestDelivered.get(collector)
      const isKnown = memory && Math.abs(nowMs - memory.atMs) < deliveredKnownMs
      if (!isKnown) await this.#database.rest()
      const hour = isKnown ? memory.hour : await this.#database.readEach(() => newestDelivered(collector, upTo))
      if (hour === undefined) continue
      newestHours.set(collector, hour)
      const isFresh = hourNumber(upTo) - hourNumber(hour) < freshHours
      if (isFresh) this.#newestDelivered.delete(collector)
      else if (!isKnown) this.#newestDelivered.set(collector, { hour, atMs: nowMs })
    }
    return newestHours
  }

  gapCounts(collectors: readonly string[], from: Hour, to: Hour): Promise<readonly GapCount[]> {
    return this.#database.readEach(() => gapCounts(collectors, from, to))
  }
}

function* latenessOf(wanted: LatenessWanted): StoreWork<Lateness> {
  const { collectors, protocolIds, destinations: names, hour } = wanted
  const ids = collectors.map(({ id }) => id)
  const [overdueCollectors, hoursWithoutRow, hourRows, oldestHour, metrics, deadAndHeld, destinations] =
    yield* together(
      lateCollectors(ids, hour),
      unplannedHours(collectors, hour),
      rowsBetween(hour, hour),
      dueHour('oldest', protocolIds, hour),
      dueUpTo(protocolIds, hour),
      deadAndHeldCounts(hour, protocolIds),
      destinationStates(names),
    )
  return {
    ...{ late: withUnread(overdueCollectors, hoursWithoutRow, hour), deadAndHeld, destinations },
    missing: hoursWithoutRow.flatMap(({ name, fault }) => (fault === null ? name : [])),
    gaps: hourRows.filter(({ state }) => state === 'gap'),
    ...(oldestHour !== undefined && { due: { oldest: oldestHour, metrics } }),
  }
}

function* overviewOf(wanted: LatenessWanted): StoreWork<Overview> {
  const [lateness, backlog, warnings] = yield* together(latenessOf(wanted), backlogOf(), allWarnings())
  return { ...lateness, backlog, warnings }
}

function* oldestHours(
  collectors: readonly string[],
  protocolIds: readonly string[],
  latest: Hour,
): StoreWork<OldestHours> {
  const [overdueCollectors, collectedHour, heldHour] = yield* together(
    lateCollectors(collectors, latest),
    dueHour('oldest', protocolIds, latest),
    oldestHeld(protocolIds, latest),
  )
  const oldest = overdueCollectors.map(each => each.oldest)
  const due = oldest.length === 0 ? undefined : (Math.min(...oldest) as Hour)
  return { due, collected: collectedHour, held: heldHour }
}

interface CurveValue extends MetricPlace {
  readonly state: number
  readonly value: number
}

/** Values of hours, without the dropped ones. */
function curveValues(from: Hour, to: Hour): StoreWork<CurveValue[]> {
  return query<CurveValue>(sql`SELECT hour, metric, state, value FROM tidegauge.outbox
    WHERE hour BETWEEN ${hourNumber(from)} AND ${hourNumber(to)} AND state <> ${stateNumber('dropped')} ORDER BY hour`)
}

/** The curves of values that are sorted by hour, in the order in which the metrics were first stored. */
function* curvesOf(values: readonly CurveValue[], from: Hour, to: Hour): StoreWork<MetricCurve[]> {
  const curves = new Map<number, { latest: CurveValue; readonly values: (number | null)[] }>()
  const [oldestHour, hours] = [hourNumber(from), hourNumber(to) - hourNumber(from) + 1]
  for (const row of values) {
    const curve = curves.get(row.metric) ?? { latest: row, values: Array<null>(hours).fill(null) }
    curve.latest = row
    if (isValid(row)) curve.values[row.hour - oldestHour] = row.value
    curves.set(row.metric, curve)
  }
  const latestRows = [...curves.values()].map(({ latest }) => latest)
  const latestOf = yield* storedByPlace(latestRows, sql`hour BETWEEN ${hourNumber(from)} AND ${hourNumber(to)}`)
  return [...curves]
    .sort(([a], [b]) => a - b)
    .flatMap(([, { latest, values: points }]) => {
      const metric = latestOf.get(placeKey(latest))
      if (!metric) return []
      const { reason: _, ...same } = metric
      return [{ latest: same, values: points }]
    })
}

/** Memory of what was reported to people. */
export class StoreReports implements ReportStore {
  readonly #database: StoreDatabase

  constructor(database: StoreDatabase) {
    this.#database = database
  }

  read(reporter: Reporter): Promise<string | undefined> {
    return this.#database.readEach(() => reportState(reporter))
  }

  save(reporter: Reporter, state: string): Promise<void> {
    return this.#database.write(() => saveReport(reporter, state))
  }
}
