import type { FaultRecord } from '../../model/fault.ts'
import { endOfTime, type Hour, hourFromNumber, hourNumber, hoursFrom } from '../../model/hour.ts'
import { jsonOf } from '../../model/json.ts'
import { recollectCapMs } from '../../model/limits.ts'
import type { Provenance } from '../../model/metric.ts'
import { isExpected } from '../../model/rhythm.ts'
import type {
  CollectionRow,
  CollectionState,
  CollectorHourRange,
  DeadOrHeldHour,
  DueHour,
  DueHoursWanted,
  HourOfAll,
  HourOrigin,
  LateCollector,
  OriginBlock,
} from '../contract/hours.ts'
import type { HoursWanted } from '../contract/operator-store.ts'
import type { GapCount, LatenessWanted, UnresolvedCount } from '../contract/status-store.ts'
import { stateNumber } from './changes.ts'
import { failedAttempts } from './end-of-hour.ts'
import { lockCollectors } from './metrics.ts'
import { type BlockRow, blockOf, pinsOfHour } from './recording.ts'
import { isIn, rows, type Statement, sql, text } from './sql.ts'
import { first, query, type StoreWork, together, write } from './work.ts'

/** The number of an hour, or of the last that the stores know: an hour that means "any" may be later. */
export function storedHour(hour: Hour): number {
  return Math.min(hourNumber(hour), 2 ** 31 - 1)
}

const states: readonly CollectionState[] = ['due', 'collected', 'gap']

function hourStateOf(number: number): CollectionState {
  return states[number] ?? 'due'
}

/** An expected hour as it is stored. */
interface RawHour {
  readonly collector: string
  readonly hour: number
  readonly state: number
  readonly attempts: number
  readonly fault: string | null
}

function collectionRow({ collector, hour, state, attempts, fault }: RawHour): CollectionRow {
  return withFault({ collector, hour: hourFromNumber(hour), state: hourStateOf(state), attempts }, fault)
}

/** A row with its stored fault, if there is one. */
function withFault<T extends object>(row: T, fault: string | null): T & { readonly fault?: FaultRecord } {
  return fault === null ? row : { ...row, fault: jsonOf(fault) as FaultRecord }
}

function* collectionRows(condition: Statement): StoreWork<CollectionRow[]> {
  const records = yield* query<RawHour>(sql`
    SELECT collector.name AS collector, collection.hour, collection.state, collection.attempts, collection.fault
    FROM tidegauge.collection JOIN tidegauge.collector ON collector.id = collection.collector WHERE ${condition}`)
  return records.map(collectionRow)
}

/** Rows of a range of hours, both ends included, by hour and collector. */
export function rowsBetween(from: Hour, to: Hour): StoreWork<CollectionRow[]> {
  return collectionRows(sql`collection.hour BETWEEN ${hourNumber(from)} AND ${hourNumber(to)}
    ORDER BY collection.hour, collector.name`)
}

/** Rows of a range of hours that have a fault, the newest hour first. */
export function faultyRows(from: Hour, to: Hour): StoreWork<CollectionRow[]> {
  return collectionRows(sql`collection.hour BETWEEN ${hourNumber(from)} AND ${hourNumber(to)}
    AND collection.fault IS NOT NULL ORDER BY collection.hour DESC, collector.name`)
}

/** Due hours as `IntakeStore.dueHours`. Only the index of due hours is read, apart from those that are given. */
export function* dueHours({ collectors, current, nowMs, limit }: DueHoursWanted): StoreWork<DueHour[]> {
  if (collectors.length === 0) return []
  const tuples = collectors.map(name => [name])
  const records = yield* query<Omit<RawHour, 'state'>>(sql`
    SELECT collector.name AS collector, collection.hour, collection.attempts, collection.fault
    FROM ${rows({ name: 'text' }, tuples)} AS asked CROSS JOIN tidegauge.collector CROSS JOIN tidegauge.collection
    WHERE collector.name = asked.name AND collection.collector = collector.id AND collection.hour IN (
      SELECT due.hour FROM tidegauge.collection AS due
      WHERE due.state = 0 AND due.collector = collector.id AND due.hour <= ${hourNumber(current)}
        AND (due.next_attempt_ms <= ${nowMs} OR due.next_attempt_ms > ${nowMs + recollectCapMs})
      ORDER BY due.hour DESC LIMIT ${limit})
    ORDER BY asked.place, collection.hour DESC`)
  return records.map(({ collector, hour, attempts, fault }) =>
    withFault({ collector, hour: hourFromNumber(hour), attempts }, fault),
  )
}

/** The earliest next attempt after an instant, in milliseconds since 1970; `undefined` when there is none. */
export function* nextAttemptMs(afterMs: number): StoreWork<number | undefined> {
  const row = yield* first<{ at: number | null }>(
    sql`SELECT min(next_attempt_ms) AS at FROM tidegauge.collection WHERE state = 0 AND next_attempt_ms > ${afterMs}`,
  )
  return row?.at ?? undefined
}

/** As `IntakeStore.endRetryWaits`. */
export function* endRetryWaits(collectors: readonly string[]): StoreWork<void> {
  const numbers = yield* lockCollectors(collectors)
  yield* write(sql`UPDATE tidegauge.collection SET next_attempt_ms = 0
    WHERE state = 0 AND next_attempt_ms > 0 AND collector ${isIn('integer', [...numbers.values()])}`)
}

/** As `IntakeStore.hourStates`. Each hour is looked up: a range of the key would read the rows of all collectors. */
export function* hourStates(collector: string, from: Hour, to: Hour): StoreWork<Map<Hour, CollectionState>> {
  const records = yield* query<{ hour: number; state: number }>(sql`
    WITH RECURSIVE ${hoursOf('collection', from, to)}
    SELECT collection.hour, collection.state FROM hours CROSS JOIN tidegauge.collection
    WHERE collection.hour = hours.hour
      AND collection.collector = (SELECT id FROM tidegauge.collector WHERE name = ${collector}) ORDER BY collection.hour`)
  return new Map(records.map(({ hour, state }) => [hourFromNumber(hour), hourStateOf(state)]))
}

/** A table `hours (hour)` of the hours of a range in which a table has rows, oldest first, for `WITH RECURSIVE`. */
export function hoursOf(table: 'collection' | 'outbox', from: Hour | undefined, to: Hour | undefined): Statement {
  const [oldestHour, newestHour] = [from === undefined ? 0 : storedHour(from), storedHour(to ?? endOfTime)]
  const ownTable = text(`tidegauge.${table}`)
  return sql`hours (hour, last) AS (
      SELECT hour, (SELECT max(hour) FROM ${ownTable} WHERE hour <= ${newestHour})
      FROM (SELECT min(hour) AS hour FROM ${ownTable} WHERE hour >= ${oldestHour}) AS begin WHERE hour <= ${newestHour}
      UNION ALL SELECT hour + 1, last FROM hours WHERE hour < last)`
}

/** The newest collected hour; `undefined` when there is none. */
export function* newestCollected(): StoreWork<Hour | undefined> {
  const row = yield* first<{ hour: number }>(
    sql`SELECT hour FROM tidegauge.collection WHERE state = 1 ORDER BY hour DESC LIMIT 1`,
  )
  return row && hourFromNumber(row.hour)
}

/** Hours of a range with dead or held metrics, the newest first. */
export function* deadOrHeldHours(from: Hour, to: Hour): StoreWork<DeadOrHeldHour[]> {
  const records = yield* query<Omit<DeadOrHeldHour, 'hour'> & { readonly hour: number }>(sql`
    SELECT collector.name AS collector, detained.hour, ${detainedState} AS state, count(*) AS metrics,
      min(detained.reason) AS reason
    FROM tidegauge.detained JOIN tidegauge.metric ON metric.id = detained.metric
      JOIN tidegauge.collector ON collector.id = metric.collector
    WHERE detained.hour BETWEEN ${hourNumber(from)} AND ${hourNumber(to)}
    GROUP BY collector.name, detained.hour, ${detainedState} ORDER BY detained.hour DESC, collector.name`)
  return records.map(row => ({ ...row, hour: hourFromNumber(row.hour) }))
}

const detainedState = text(`CASE WHEN detained.kind = 'refused' THEN 'dead' ELSE 'held' END`)

/** Collectors with due hours at or before an hour: how many, the oldest, and its fault. */
export function* lateCollectors(names: readonly string[], hour: Hour): StoreWork<LateCollector[]> {
  const records = yield* query<{ collector: string; hours: number; oldest: number; fault: string | null }>(sql`
    SELECT late.name AS collector, late.hours, late.oldest, collection.fault
    FROM (SELECT collector.id, collector.name, count(*) AS hours, min(due.hour) AS oldest
        FROM tidegauge.collector CROSS JOIN tidegauge.collection AS due
        WHERE due.collector = collector.id AND due.state = 0 AND due.hour <= ${storedHour(hour)}
          AND collector.name ${isIn('text', names)} GROUP BY collector.id, collector.name) AS late
      JOIN tidegauge.collection ON collection.collector = late.id AND collection.hour = late.oldest
    ORDER BY late.name`)
  return records.map(({ collector, hours, oldest, fault }) =>
    withFault({ collector, hours, oldest: hourFromNumber(oldest) }, fault),
  )
}

/** A collector that is expected for an hour but has no row of it. */
interface UnplannedHour {
  readonly name: string
  /** Fault of a backfill that could not read the hour; `null` where none has tried. */
  readonly fault: string | null
}

/** Collectors that are expected for an hour but have no row of it. @param collectors with the configured starts */
export function* unplannedHours(collectors: LatenessWanted['collectors'], hour: Hour): StoreWork<UnplannedHour[]> {
  const [wantedHour, tuples] = [
    hourNumber(hour),
    collectors
      .filter(one => isExpected(one, hour))
      .map(({ id, since }) => [id, since === undefined ? null : hourNumber(since)]),
  ]
  return yield* query<UnplannedHour>(sql`
    SELECT asked.name, failure.fault FROM ${rows({ name: 'text', since: 'integer' }, tuples)} AS asked
      LEFT JOIN tidegauge.collector ON collector.name = asked.name
      LEFT JOIN tidegauge.backfill_failure AS failure ON failure.hour = ${wantedHour} AND failure.collector = collector.id
    WHERE coalesce(collector.since, asked.since, ${wantedHour}) <= ${wantedHour} AND NOT EXISTS (
      SELECT 1 FROM tidegauge.collection AS here WHERE here.hour = ${wantedHour} AND here.collector = collector.id)
    ORDER BY asked.place`)
}

/** Adds hours that only a backfill has tried, and could not read, to the overdue ones. */
export function withUnread(
  overdueCollectors: readonly LateCollector[],
  hoursWithoutRow: readonly UnplannedHour[],
  hour: Hour,
): LateCollector[] {
  const faults = new Map(hoursWithoutRow.flatMap(({ name, fault }) => (fault === null ? [] : [[name, fault] as const])))
  const lateIds = new Set(overdueCollectors.map(({ collector }) => collector))
  return [
    ...overdueCollectors.map(each => (faults.has(each.collector) ? { ...each, hours: each.hours + 1 } : each)),
    ...[...faults]
      .filter(([collector]) => !lateIds.has(collector))
      .map(([collector, fault]) => withFault({ collector, hours: 1, oldest: hour }, fault)),
  ]
}

/** Gaps of collectors in a range of hours, both ends included, by collector and the code of their fault. */
export function gapCounts(names: readonly string[], from: Hour, to: Hour): StoreWork<GapCount[]> {
  return query<GapCount>(sql`
    SELECT collector.name AS collector, collection.fault_code AS code, count(*) AS hours
    FROM tidegauge.collector CROSS JOIN tidegauge.collection
    WHERE collection.collector = collector.id AND collection.state = 2 AND collector.name ${isIn('text', names)}
      AND collection.hour BETWEEN ${hourNumber(from)} AND ${hourNumber(to)}
    GROUP BY collector.name, collection.fault_code ORDER BY collector.name, collection.fault_code`)
}

/** The names of all collectors, by name. */
export function* collectorNames(): StoreWork<string[]> {
  const found = yield* query<{ name: string }>(sql`SELECT name FROM tidegauge.collector ORDER BY name`)
  return found.map(({ name }) => name)
}

/** An hour of a range, as it is stored. */
interface HourOfRange {
  readonly collector: string
  readonly hour: number
  readonly fault: string | null
}

/** As `OperatorStore.hourRanges`. */
export function* hourRanges(
  state: 'gap' | 'due' | 'unread',
  { collectors, from, to }: HoursWanted = {},
): StoreWork<CollectorHourRange[]> {
  const [oldestHour, newestHour] = [from === undefined ? 0 : storedHour(from), storedHour(to ?? endOfTime)]
  const isOf = collectors ? sql`AND collector.name ${isIn('text', collectors)}` : text('')
  if (state !== 'unread') {
    return hourRangesOf(
      yield* query<HourOfRange>(sql`
        SELECT collector.name AS collector, collection.hour, collection.fault
        FROM tidegauge.collector CROSS JOIN tidegauge.collection
        WHERE collection.collector = collector.id AND collection.state = ${text(state === 'gap' ? '2' : '0')} ${isOf}
          AND collection.hour BETWEEN ${oldestHour} AND ${newestHour} ORDER BY collector.name, collection.hour`),
    )
  }
  return hourRangesOf(
    yield* query<HourOfRange>(sql`
      SELECT collector.name AS collector, failure.hour, failure.fault
      FROM tidegauge.backfill_failure AS failure JOIN tidegauge.collector ON collector.id = failure.collector
        LEFT JOIN tidegauge.collection ON collection.hour = failure.hour AND collection.collector = failure.collector
      WHERE coalesce(collection.state, 0) = 0 ${isOf} AND failure.hour BETWEEN ${oldestHour} AND ${newestHour}
      ORDER BY collector.name, failure.hour`),
  )
}

/** Joins consecutive hours of a collector with the same reason. @param hours by collector and hour */
function hourRangesOf(hours: readonly HourOfRange[]): CollectorHourRange[] {
  const ranges: { collector: string; from: number; to: number; fault: string | null; kind: string }[] = []
  for (const { collector, hour, fault } of hours) {
    const [last, kind] = [ranges.at(-1), kindOfFault(fault)]
    if (last?.collector === collector && last.to + 1 === hour && last.kind === kind) last.to = hour
    else ranges.push({ collector, from: hour, to: hour, fault, kind })
  }
  return ranges.map(({ collector, from, to, fault }) =>
    withFault({ collector, from: hourFromNumber(from), to: hourFromNumber(to), hours: to - from + 1 }, fault),
  )
}

/** Kind of a reason: its code, and its words without numbers. */
function kindOfFault(fault: string | null): string {
  if (fault === null) return ''
  const { code, message } = jsonOf(fault) as FaultRecord
  return `${code} ${kindOfReason(message)}`
}

/** A reason without its numbers: reasons of one kind differ in them. */
export function kindOfReason(reason: string): string {
  return reason.replace(/\d+/g, '…')
}

interface RawUnresolved extends Omit<UnresolvedCount, 'hour'> {
  readonly hour: number
}

/** Gaps, dead and held metrics of all hours, by kind and collector. */
export function* unresolvedCounts(): StoreWork<UnresolvedCount[]> {
  const [gaps, detainedRows] = yield* together(
    query<RawUnresolved>(sql`
      SELECT 'gap' AS kind, collector.name AS collector, gaps.count, gaps.hour, collection.fault AS reason
      FROM (SELECT collector, count(*) AS count, max(hour) AS hour FROM tidegauge.collection WHERE state = 2 GROUP BY collector) AS gaps
        JOIN tidegauge.collector ON collector.id = gaps.collector
        JOIN tidegauge.collection ON collection.collector = gaps.collector AND collection.hour = gaps.hour
      ORDER BY collector.name`),
    query<RawUnresolved>(sql`
      SELECT listed.kind, listed.collector, listed.count, listed.hour, (
        SELECT detained.reason FROM tidegauge.detained JOIN tidegauge.metric ON metric.id = detained.metric
          JOIN tidegauge.collector ON collector.id = metric.collector
        WHERE detained.hour = listed.hour AND collector.name = listed.collector AND ${detainedState} = listed.kind
        ORDER BY detained.metric LIMIT 1) AS reason
      FROM (SELECT ${detainedState} AS kind, collector.name AS collector, count(*) AS count, max(detained.hour) AS hour
        FROM tidegauge.detained JOIN tidegauge.metric ON metric.id = detained.metric
          JOIN tidegauge.collector ON collector.id = metric.collector
        GROUP BY ${detainedState}, collector.name) AS listed ORDER BY 1, 2`),
  )
  const faults = gaps.map(row => ({ ...row, reason: (jsonOf(row.reason) as FaultRecord).message }))
  const deadCounts = detainedRows.filter(({ kind }) => kind === 'dead')
  const heldCounts = detainedRows.filter(({ kind }) => kind === 'held')
  return [...deadCounts, ...faults, ...heldCounts].map(row => ({ ...row, hour: hourFromNumber(row.hour) }))
}

interface HourAndCollector {
  readonly hour: number
  readonly collector: number
  readonly state: number
}

/** States of a range of hours, as `StatusStore.hoursOfAll`. Rows of delivered metrics are not read. */
export function* hoursOfAll(collectors: readonly string[], from: Hour, to: Hour): StoreWork<HourOfAll[]> {
  const range = sql`BETWEEN ${hourNumber(from)} AND ${hourNumber(to)}`
  const [names, hourRows, partial, dueRows, detainedHours] = yield* together(
    query<{ name: string; id: number }>(sql`
      SELECT name, id FROM tidegauge.collector WHERE name ${isIn('text', collectors)}`),
    query<HourAndCollector>(sql`SELECT hour, collector, state FROM tidegauge.collection WHERE hour ${range}`),
    query<HourAndCollector>(sql`
      SELECT DISTINCT failure.hour, failure.collector, 1 AS state
      FROM tidegauge.backfill_failure AS failure CROSS JOIN tidegauge.metric CROSS JOIN tidegauge.outbox
      WHERE failure.hour ${range} AND metric.collector = failure.collector
        AND outbox.hour = failure.hour AND outbox.metric = metric.id AND outbox.state <> 4`),
    query<HourAndCollector>(sql`
      SELECT DISTINCT outbox.hour, metric.collector, 0 AS state
      FROM tidegauge.protocol CROSS JOIN tidegauge.outbox CROSS JOIN tidegauge.metric
      WHERE outbox.protocol = protocol.id AND outbox.state = 0 AND outbox.hour ${range} AND metric.id = outbox.metric`),
    query<HourAndCollector>(sql`
      SELECT DISTINCT detained.hour, metric.collector,
        CASE WHEN detained.kind = 'refused' THEN 2 ELSE 3 END AS state
      FROM tidegauge.detained JOIN tidegauge.metric ON metric.id = detained.metric WHERE detained.hour ${range}`),
  )
  const byName = new Map(names.map(({ name, id }) => [name, id]))
  const numbers = collectors.map(name => byName.get(name) ?? -1)
  const byHour = Map.groupBy([...partial, ...hourRows], ({ hour }) => hour)
  const openByHour = Map.groupBy([...dueRows, ...detainedHours], ({ hour }) => hour)
  return hoursFrom(from, to).map(hour =>
    hourOfAll(numbers, byHour.get(hourNumber(hour)) ?? [], openByHour.get(hourNumber(hour)) ?? []),
  )
}

function hourOfAll(
  numbers: readonly number[],
  hourRows: readonly HourAndCollector[],
  openRows: readonly HourAndCollector[],
): HourOfAll {
  const byCollector = new Map(hourRows.map(({ collector, state }) => [collector, hourStateOf(state)]))
  const openStates = new Set(openRows.map(({ collector, state }) => `${collector} ${state}`))
  return {
    stateOf: place => byCollector.get(numbers[place] ?? -1),
    has: (place, state) => openStates.has(`${numbers[place] ?? -1} ${stateNumber(state)}`),
  }
}

/**
 * The newest hour of a collector, up to `upTo`, that is completely delivered; if there is none, the hour it is expected from;
 * `undefined` for an unknown one. Walks back, twice as far each time: an index of all collected hours would be a hundred
 * times as large as the answer.
 */
export function* newestDelivered(collector: string, upTo: Hour): StoreWork<Hour | undefined> {
  const collectorRow = yield* first<{ id: number; since: number }>(
    sql`SELECT id, since FROM tidegauge.collector WHERE name = ${collector}`,
  )
  if (!collectorRow) return undefined
  for (let [last, hours] = [hourNumber(upTo), 4]; last >= collectorRow.since; last -= hours, hours *= 2) {
    const newestRow = yield* first<{ hour: number }>(sql`
      WITH RECURSIVE back (hour) AS (
        SELECT CAST(${last} AS integer) UNION ALL
        SELECT hour - 1 FROM back WHERE hour > ${Math.max(collectorRow.since, last - hours + 1)})
      SELECT back.hour FROM back CROSS JOIN tidegauge.collection
      WHERE collection.hour = back.hour AND collection.collector = ${collectorRow.id} AND collection.state = 1 AND NOT EXISTS (
        SELECT 1 FROM tidegauge.metric CROSS JOIN tidegauge.outbox
        WHERE metric.collector = ${collectorRow.id} AND outbox.hour = back.hour AND outbox.metric = metric.id
          AND outbox.state IN (0, 2, 3))
      ORDER BY back.hour DESC LIMIT 1`)
    if (newestRow) return hourFromNumber(newestRow.hour)
  }
  return hourFromNumber(collectorRow.since)
}

/** As `OperatorStore.origin`. */
export function* hourOrigin(collector: string, hour: Hour): StoreWork<HourOrigin | undefined> {
  const [row] = yield* collectionRows(sql`collection.hour = ${hourNumber(hour)} AND collector.name = ${collector}`)
  if (!row) return undefined
  const [failuresRow, provenanceRow, pins] = yield* together(
    first<{ readonly failures: string | null }>(sql`
      SELECT failures FROM tidegauge.collection JOIN tidegauge.collector ON collector.id = collection.collector
      WHERE hour = ${hourNumber(hour)} AND collector.name = ${collector}`),
    first<Omit<Provenance, 'hosts'> & { readonly hosts: string }>(sql`
      SELECT provenance.version, provenance.code, provenance.options, provenance.hosts FROM tidegauge.collection
        JOIN tidegauge.collector ON collector.id = collection.collector
        JOIN tidegauge.provenance ON provenance.id = collection.provenance
      WHERE collection.hour = ${hourNumber(hour)} AND collector.name = ${collector}`),
    pinsOfHour(collector, hour),
  )
  const provenance = provenanceRow && { ...provenanceRow, hosts: jsonOf(provenanceRow.hosts) as Provenance['hosts'] }
  const finalChains = Object.keys(provenance?.hosts ?? {})
    .map(Number)
    .filter(id => !pins.some(({ chain }) => chain === id))
  const final = yield* query<BlockRow & { readonly chain: number }>(sql`
    SELECT chain, number, hash, timestamp FROM tidegauge.final_block
    WHERE chain ${isIn('bigint', finalChains)} AND hour = ${hourNumber(hour)}`)
  const finalBlocks = finalChains.flatMap(id => final.filter(({ chain }) => chain === id))
  const originOf =
    (isFinal: boolean) =>
    ({ chain, ...block }: BlockRow & { readonly chain: number }): OriginBlock => {
      return { chainId: chain, block: blockOf(block), isFinal }
    }
  return {
    ...row,
    failed: failedAttempts(failuresRow?.failures ?? null),
    ...(provenance && { provenance }),
    blocks: [...pins.map(originOf(false)), ...finalBlocks.map(originOf(true))],
  }
}
