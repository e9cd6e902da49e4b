import type { AsOfBlock, Hex, PinnedBlock, PinnedLogs } from '../../model/block.ts'
import { type Fault, faultRecord } from '../../model/fault.ts'
import { type Hour, hourAt, hourFromNumber, hourNumber } from '../../model/hour.ts'
import { jsonOf } from '../../model/json.ts'
import type { Metric, Provenance } from '../../model/metric.ts'
import type { CollectionOutcome, PinnedHour } from '../contract/hours.ts'
import { heldUnits, MetricChanges, storedRows } from './changes.ts'
import { rowDigest } from './digest.ts'
import { endOfHour, type HourColumns, type ReadingEnd } from './end-of-hour.ts'
import { lockWithDependents, renewDerived } from './inputs.ts'
import {
  type KnownMetric,
  lockCollectors,
  lockProtocols,
  type NumbersByName,
  type RegisteredMetric,
  registerMetrics,
} from './metrics.ts'
import { type Enqueued, enqueue } from './policy.ts'
import { forUpdate, isIn, rows, sql, text } from './sql.ts'
import { query, type StoreWork, together, write } from './work.ts'

/** An outcome to be recorded. */
export interface RecordedOutcome {
  readonly outcome: CollectionOutcome
  /** In milliseconds since 1970. */
  readonly nowMs: number
  /** Whether more metrics of the hour follow in another commit. Default: no. */
  readonly isPart?: boolean
}

/** Result of recording an outcome. */
interface RecordResult {
  readonly enqueued: Enqueued
  /** Metrics that no process can have sent before the commit. */
  readonly unsent: readonly Metric[]
}

/** An hour of a collector, and the change that an outcome makes to it. */
interface EndedHour extends RecordedOutcome {
  /** Number of the collector. */
  readonly collector: number
  readonly enqueued: Enqueued
  /** Number of the provenance; `null` when not known. */
  readonly provenance: number | null
}

const nothing: RecordResult = { enqueued: { metrics: 0, corrected: 0, digest: 0 }, unsent: [] }

/**
 * Stores outcomes of collections: it locks rows, loads what may stand in the way, decides, and writes. An hour of a collector
 * is in one outcome at most.
 *
 * @returns a result for each
 * @throws Error for values of a collector that is not known
 */
export function* recordOutcomes(outcomes: readonly RecordedOutcome[]): StoreWork<RecordResult[]> {
  yield* addUnscheduled(outcomes)
  const [{ numbers: collectors, dependents }, provenances] = yield* together(
    lockWithDependents(
      outcomes.map(({ outcome }) => outcome.collector),
      outcomes.flatMap(({ outcome }) => outcome.acceptedValues.map(({ metric }) => metric.id)),
    ),
    provenanceNumbers(outcomes.flatMap(({ outcome }) => outcome.provenance ?? [])),
  )
  const target = yield* loadedMetrics(outcomes, collectors)
  const results = new Map<RecordedOutcome, RecordResult>()
  const hours = outcomes.flatMap((recordedOutcome): EndedHour[] => {
    const { acceptedValues, provenance, collector: name, inputChanges } = recordedOutcome.outcome
    const mode = inputChanges === undefined ? (recordedOutcome.outcome.mode ?? 'first-stands') : 'correct'
    const collector = collectors.get(name)
    // Without values there is nothing to refuse, and no row to change.
    if (collector === undefined) return []
    const { unsent, ...enqueuedCounts } = enqueue(target, { acceptedValues, mode, nowMs: recordedOutcome.nowMs })
    results.set(recordedOutcome, { enqueued: enqueuedCounts, unsent })
    const number = provenance ? (provenances.get(provenanceKey(provenance)) ?? null) : null
    return [{ ...recordedOutcome, collector, enqueued: enqueuedCounts, provenance: number }]
  })
  yield* target.changes.write()
  yield* writePins(hours)
  yield* renewDerived(dependents, {
    renewedValues: target.changes.renewed,
    metricsByNumber: new Map([...target.metricsById.values()].map(one => [one.number, one])),
    latest: hourNumber(hourAt(outcomes.reduce((most, { nowMs }) => Math.max(most, nowMs), 0))),
    recordedKeys: new Set(
      hours.map(({ outcome, collector }) => hourKey({ hour: hourNumber(outcome.hour), collector })),
    ),
  })
  yield* endHours(hours)
  return outcomes.map(one => results.get(one) ?? nothing)
}

/** Inserts the collectors that have no schedule. */
function* addUnscheduled(recorded: readonly RecordedOutcome[]): StoreWork<void> {
  const since = new Map(
    recorded.flatMap(({ outcome, nowMs }) =>
      outcome.unexpected ? [[outcome.collector, hourNumber(hourAt(nowMs))] as const] : [],
    ),
  )
  if (since.size === 0) return
  yield* write(sql`INSERT INTO tidegauge.collector (name, since)
    SELECT name, since FROM ${rows({ name: 'text', since: 'integer' }, [...since])} AS added
    WHERE NOT EXISTS (SELECT 1 FROM tidegauge.collector AS known WHERE known.name = added.name)
    ORDER BY name ON CONFLICT DO NOTHING`)
}

/** Loads what there is about the metrics of outcomes. */
function* loadedMetrics(outcomes: readonly RecordedOutcome[], collectors: NumbersByName) {
  const metrics = outcomes.flatMap(({ outcome: { collector, acceptedValues } }): RegisteredMetric[] => {
    const collectorNumber = collectors.get(collector)
    if (acceptedValues.length > 0 && collectorNumber === undefined)
      throw new Error(`no collector ${collector} is known to the outbox`)
    return acceptedValues.map(({ metric: { hour, ...metric } }) => {
      return { ...metric, collector, collectorNumber: collectorNumber ?? 0, since: hourNumber(hour) }
    })
  })
  if (metrics.length === 0)
    return { metricsById: new Map<string, KnownMetric>(), changes: new MetricChanges(), heldUnits: new Map() }
  const byId = yield* registerMetrics(metrics, yield* lockProtocols(metrics.map(({ protocolId }) => protocolId)))
  const places = outcomes.flatMap(({ outcome }) =>
    outcome.acceptedValues.map(({ metric: { id, hour } }) => {
      return { hour: hourNumber(hour), metric: byId.get(id)?.number ?? 0 }
    }),
  )
  const stored = yield* storedRows(places)
  return { metricsById: byId, changes: new MetricChanges(stored), heldUnits: yield* heldUnits(stored) }
}

function endOf({ outcome: { failure, unexpected: isUnexpected }, isPart, nowMs }: RecordedOutcome): ReadingEnd {
  if (isPart) return { kind: 'none' }
  if (!failure) return { kind: 'collected' }
  return isUnexpected ? { kind: 'none' } : { kind: 'failed', ...failure, nowMs }
}

function* endHours(hours: readonly EndedHour[]): StoreWork<void> {
  const rowsBefore = yield* storedHours(hours.map(hourOf))
  const isCounted = (one: EndedHour) => !rowsBefore.has(hourKey(hourOf(one))) && endOf(one).kind === 'collected'
  const counts = yield* storedCounts(hours.filter(isCounted).map(hourOf))
  const rowsAfter = hours.flatMap(endedHour => {
    const hour = hourOf(endedHour)
    const { enqueued, provenance, outcome } = endedHour
    const count = counts.get(hourKey(hour)) ?? enqueued
    const isChanged = enqueued.metrics + enqueued.corrected > 0
    const stored = { metrics: count.metrics, digest: count.digest, inputChanges: outcome.inputChanges }
    const whose = isChanged || isCounted(endedHour) ? provenance : null
    const row = endOfHour(rowsBefore.get(hourKey(hour)), endOf(endedHour), { ...stored, provenance: whose })
    return row ? [{ ...hour, ...row }] : []
  })
  yield* writeHours(rowsAfter)
  yield* noteFailures(hours)
}

interface HourOfCollector {
  readonly hour: number
  readonly collector: number
}

function hourOf({ outcome, collector }: Pick<EndedHour, 'outcome' | 'collector'>): HourOfCollector {
  return { hour: hourNumber(outcome.hour), collector }
}

function hourKey({ hour, collector }: HourOfCollector): string {
  return `${hour} ${collector}`
}

const placeColumns = { hour: 'integer', collector: 'integer' } as const

/** The rows of hours that are expected, by `hourKey`. */
function* storedHours(hours: readonly HourOfCollector[]): StoreWork<ReadonlyMap<string, HourColumns>> {
  const tuples = hours.map(({ hour, collector }) => [hour, collector])
  const records = yield* query<HourColumns & HourOfCollector>(sql`
    SELECT hour, collector, state, attempts, next_attempt_ms, fault, fault_code, metrics, digest, provenance, failures, changes
    FROM tidegauge.collection
    WHERE (hour, collector) IN (SELECT hour, collector FROM ${rows(placeColumns, tuples)} AS ended) ${forUpdate}`)
  return new Map(records.map(row => [hourKey(row), row]))
}

/** Counts and digests of all metrics of hours, whenever they were stored, by `hourKey`. */
function* storedCounts(hours: readonly HourOfCollector[]) {
  if (hours.length === 0) return new Map<string, { metrics: number; digest: number }>()
  const tuples = hours.map(({ hour, collector }) => [hour, collector])
  const records = yield* query<HourOfCollector & { metric: number; value: number }>(sql`
    SELECT outbox.hour, metric.collector, outbox.metric, outbox.value
    FROM ${rows(placeColumns, tuples)} AS wanted CROSS JOIN tidegauge.metric CROSS JOIN tidegauge.outbox
    WHERE metric.collector = wanted.collector AND outbox.hour = wanted.hour AND outbox.metric = metric.id`)
  const byHour = Map.groupBy(records, hourKey)
  return new Map(
    hours.map(hour => {
      const values = byHour.get(hourKey(hour)) ?? []
      const digest = values.reduce((sum, { metric, value }) => (sum + rowDigest(hour.hour, metric, value)) % 2 ** 32, 0)
      return [hourKey(hour), { metrics: values.length, digest }]
    }),
  )
}

const hourColumns = {
  ...placeColumns,
  ...({ state: 'integer', attempts: 'integer', next_attempt_ms: 'bigint', fault: 'text', fault_code: 'text' } as const),
  ...({ metrics: 'integer', digest: 'bigint', provenance: 'integer', failures: 'text' } as const),
}
const hourNames = text(Object.keys(hourColumns).join(', '))

/** Writes rows of hours, of which some are new. */
function* writeHours(hours: readonly (HourOfCollector & HourColumns)[]): StoreWork<void> {
  if (hours.length === 0) return
  const given = hours.map(row => Object.keys(hourColumns).map(name => row[name as keyof typeof hourColumns]))
  yield* write(sql`INSERT INTO tidegauge.collection (${hourNames})
    SELECT ${hourNames} FROM ${rows(hourColumns, given)} AS ended WHERE true ORDER BY hour, collector
    ON CONFLICT (hour, collector) DO UPDATE SET state = excluded.state, attempts = excluded.attempts,
      next_attempt_ms = excluded.next_attempt_ms, fault = excluded.fault, fault_code = excluded.fault_code,
      metrics = excluded.metrics, digest = excluded.digest, provenance = excluded.provenance, failures = excluded.failures`)
}

/** Turns a due hour into a gap, or inserts a gap. No effect on a collected hour or a gap. */
export function* markGap(name: string, hour: Hour, fault: Fault): StoreWork<void> {
  const collector = (yield* lockCollectors([name])).get(name)
  if (collector === undefined) return
  const place = { hour: hourNumber(hour), collector }
  const row = endOfHour((yield* storedHours([place])).get(hourKey(place)), { kind: 'gap', fault })
  if (row) yield* writeHours([{ ...place, ...row }])
}

/** Keeps the hours that a backfill could not read, until they are collected. */
function* noteFailures(hours: readonly EndedHour[]): StoreWork<void> {
  const pairOf = ({ outcome, collector }: EndedHour) => [hourNumber(outcome.hour), collector]
  const collectedPlaces = hours.filter(one => endOf(one).kind === 'collected').map(pairOf)
  if (collectedPlaces.length > 0) {
    yield* write(sql`DELETE FROM tidegauge.backfill_failure
      WHERE (hour, collector) IN (SELECT hour, collector FROM ${rows(placeColumns, collectedPlaces)} AS collected)`)
  }
  const failureRows = hours.flatMap(hourEnd => {
    const { failure, unexpected: isUnexpected } = hourEnd.outcome
    if (hourEnd.isPart || !failure || !isUnexpected) return []
    return [[...pairOf(hourEnd), hourEnd.nowMs, JSON.stringify(faultRecord(failure.fault))]]
  })
  if (failureRows.length === 0) return
  yield* write(sql`INSERT INTO tidegauge.backfill_failure (hour, collector, at_ms, fault)
    SELECT hour, collector, at_ms, fault FROM ${rows({ ...placeColumns, at_ms: 'bigint', fault: 'text' }, failureRows)} AS unread
    WHERE NOT EXISTS (SELECT 1 FROM tidegauge.collection
      WHERE collection.hour = unread.hour AND collection.collector = unread.collector AND collection.state = 1)
    ON CONFLICT (hour, collector) DO UPDATE SET at_ms = excluded.at_ms, fault = excluded.fault`)
}

const provenanceColumns = { version: 'text', code: 'text', options: 'text', hosts: 'text' } as const

/** The numbers of provenances, by `provenanceKey`; new ones are inserted. There are few, each shared by many hours. */
function* provenanceNumbers(all: readonly Provenance[]): StoreWork<ReadonlyMap<string, number>> {
  const tuples = [...new Map(all.map(one => [provenanceKey(one), provenanceRow(one)])).values()]
  if (tuples.length === 0) return new Map()
  const known = yield* knownProvenances(tuples)
  const newTuples = tuples.filter(row => !known.has(JSON.stringify(row)))
  if (newTuples.length === 0) return known
  yield* write(sql`INSERT INTO tidegauge.provenance (version, code, options, hosts)
    SELECT version, code, options, hosts FROM ${rows(provenanceColumns, newTuples)} AS added
    WHERE true ORDER BY 1, 2, 3, 4 ON CONFLICT DO NOTHING`)
  return yield* knownProvenances(tuples)
}

function* knownProvenances(tuples: readonly (readonly string[])[]): StoreWork<ReadonlyMap<string, number>> {
  const records = yield* query<Record<keyof typeof provenanceColumns, string> & { id: number }>(sql`
    SELECT known.id, known.version, known.code, known.options, known.hosts
    FROM ${rows(provenanceColumns, tuples)} AS wanted CROSS JOIN tidegauge.provenance AS known
    WHERE known.version = wanted.version AND known.code = wanted.code AND known.options = wanted.options
      AND known.hosts = wanted.hosts`)
  return new Map(
    records.map(({ id, version, code, options, hosts }) => [JSON.stringify([version, code, options, hosts]), id]),
  )
}

function provenanceRow({ version, code, options, hosts }: Provenance): string[] {
  return [version, code, options, JSON.stringify(hosts, Object.keys(hosts).sort())]
}

function provenanceKey(provenance: Provenance): string {
  return JSON.stringify(provenanceRow(provenance))
}

/** A block as a row stores it. */
export interface BlockRow {
  readonly number: number
  /** The block's hash, 32 bytes. */
  readonly hash: Buffer
  /** Seconds since 1970. */
  readonly timestamp: number
}

/** The block of a row. */
export function blockOf({ number, hash, timestamp }: BlockRow): AsOfBlock {
  const hex: Hex = `0x${hash.toString('hex')}`
  return { number: BigInt(number), hash: hex, timestampSeconds: timestamp }
}

/** The bytes of a block's hash. */
export function hashBytes({ hash }: AsOfBlock): Buffer {
  return Buffer.from(hash.slice(2), 'hex')
}

/** A hash that no block has: the values of one hour were read at two blocks, so the hour has to be read again. */
const noHash = Buffer.alloc(32)

/**
 * Stores the blocks that values were read at. Where other values of an hour were read at another block or from other logs,
 * the hour has to be read again: `noHash` is stored.
 */
function* writePins(hours: readonly EndedHour[]): StoreWork<void> {
  // Every value is now as of these blocks, whatever it was read at before.
  const isWhole = ({ outcome: { failure, mode }, isPart }: EndedHour) => !isPart && !failure && mode === 'correct'
  const wholePlaces = hours.filter(isWhole).map(({ outcome, collector }) => [hourNumber(outcome.hour), collector])
  if (wholePlaces.length > 0) {
    yield* write(sql`DELETE FROM tidegauge.pin WHERE (hour, collector) IN (
      SELECT hour, collector FROM ${rows(placeColumns, wholePlaces)} AS whole)`)
  }
  for (const one of hours) {
    const { enqueued, outcome, collector } = one
    if (!isWhole(one) && enqueued.metrics + enqueued.corrected === 0) continue
    for (const pin of outcome.pins ?? []) yield* writePin(hourNumber(outcome.hour), collector, pin)
  }
}

function* writePin(hour: number, collector: number, { chainId, block, logs }: PinnedBlock): StoreWork<void> {
  const text = logs ? JSON.stringify(logs) : null
  yield* write(sql`INSERT INTO tidegauge.pin (chain, hour, collector, number, hash, timestamp, logs)
    VALUES (${chainId}, ${hour}, ${collector}, ${block.number}, ${hashBytes(block)}, ${block.timestampSeconds}, ${text})
    ON CONFLICT (chain, hour, collector) DO UPDATE SET logs = coalesce(excluded.logs, pin.logs),
      hash = CASE WHEN pin.hash = excluded.hash AND (excluded.logs IS NULL OR pin.logs IS NULL OR excluded.logs = pin.logs)
        THEN pin.hash ELSE ${noHash} END`)
}

interface RawPin extends BlockRow {
  readonly hour: number
  readonly collector: string
  readonly logs: string | null
}

/** Pinned hours of a chain up to an hour, oldest first. @param collectors those alone */
export function* pinnedHours(
  chainId: number,
  upTo: Hour,
  limit: number,
  collectors?: readonly string[],
): StoreWork<PinnedHour[]> {
  const ofCollectors = collectors ? sql`AND collector.name ${isIn('text', collectors)}` : text('')
  const records = yield* query<RawPin>(sql`
    SELECT pin.hour, collector.name AS collector, pin.number, pin.hash, pin.timestamp, pin.logs
    FROM tidegauge.pin JOIN tidegauge.collector ON collector.id = pin.collector
    WHERE pin.chain = ${chainId} AND pin.hour <= ${hourNumber(upTo)} ${ofCollectors} ORDER BY pin.hour, collector.name LIMIT ${limit}`)
  return records.map(({ hour, collector, logs, ...block }) => {
    const own = { hour: hourFromNumber(hour), collector, block: blockOf(block) }
    return logs === null ? own : { ...own, logs: jsonOf(logs) as PinnedLogs[] }
  })
}

/** Blocks that values of a collector's hour were read at and that may still be replaced, by chain. */
export function* pinsOfHour(collector: string, hour: Hour): StoreWork<(BlockRow & { readonly chain: number })[]> {
  const records = yield* query<BlockRow & { readonly chain: number }>(sql`
    SELECT chain, number, hash, timestamp FROM tidegauge.pin
    WHERE chain IN (SELECT DISTINCT chain FROM tidegauge.pin) AND hour = ${hourNumber(hour)}
      AND collector = (SELECT id FROM tidegauge.collector WHERE name = ${collector}) ORDER BY chain`)
  return records.filter(({ hash }) => !noHash.equals(hash))
}

/** Deletes pins of a collector's hour. @param confirmation the one whose block became final; default: all */
export function* deletePins(
  collector: string,
  hour: Hour,
  confirmation?: { readonly chainId: number; readonly block: AsOfBlock },
): StoreWork<void> {
  const condition = sql`hour = ${hourNumber(hour)} AND collector = (SELECT id FROM tidegauge.collector WHERE name = ${collector})`
  // The key begins with the chain, and there are few.
  if (!confirmation) {
    yield* write(
      sql`DELETE FROM tidegauge.pin WHERE chain IN (SELECT DISTINCT chain FROM tidegauge.pin) AND ${condition}`,
    )
    return
  }
  yield* write(sql`DELETE FROM tidegauge.pin
    WHERE chain = ${confirmation.chainId} AND hash = ${hashBytes(confirmation.block)} AND ${condition}`)
}
