import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import type { CollectionRow, CollectorHourRange, LateCollector, WithheldHour } from '../../contract/hours.ts'
import type { HoursWanted } from '../../contract/operator-store.ts'
import type { GapCount, LatenessWanted, UnresolvedCount } from '../../contract/status-store.ts'
import { type HourOfRange, hourRangesOf } from '../../rows/hour-ranges.ts'
import {
  collectionRow,
  hourBounds,
  lateCollector,
  type RawHour,
  type RawLate,
  type RawUnresolved,
  unresolvedCount,
} from '../../rows/hour-rows.ts'
import type { RowReader } from './known-metrics.ts'
import { withinInteger } from './run-rows.ts'

const rowColumns =
  'collector.name AS collector, collection.hour, collection.state, collection.attempts, collection.fault'
const rowTables = 'tidegauge.collection JOIN tidegauge.collector ON collector.id = collection.collector'

/** The row of a collector's hour; `undefined` where there is none. */
export async function hourRow(reading: RowReader, collector: string, hour: Hour): Promise<CollectionRow | undefined> {
  const [row] = await reading.query<RawHour>(
    `SELECT ${rowColumns} FROM ${rowTables} WHERE collection.hour = $1 AND collector.name = $2`,
    [hourNumber(hour), collector],
  )
  return row && collectionRow(row)
}

/** Rows of a range of hours, both ends included, by hour and collector. */
export async function rowsBetween(reading: RowReader, from: Hour, to: Hour): Promise<CollectionRow[]> {
  const rows = await reading.query<RawHour>(
    `SELECT ${rowColumns} FROM ${rowTables} WHERE collection.hour BETWEEN $1 AND $2 ORDER BY collection.hour, collector.name`,
    [hourNumber(from), hourNumber(to)],
  )
  return rows.map(collectionRow)
}

/** Rows of a range of hours that have a fault. */
export async function faultyRows(reading: RowReader, from: Hour, to: Hour): Promise<CollectionRow[]> {
  const rows = await reading.query<RawHour>(
    `SELECT ${rowColumns} FROM ${rowTables} WHERE collection.hour BETWEEN $1 AND $2 AND collection.fault IS NOT NULL
     ORDER BY collection.hour DESC, collector.name`,
    [hourNumber(from), hourNumber(to)],
  )
  return rows.map(collectionRow)
}

/** Hours of a range with dead or held metrics. */
export async function withheldHours(reading: RowReader, from: Hour, to: Hour): Promise<WithheldHour[]> {
  const rows = await reading.query<Omit<WithheldHour, 'hour'> & { readonly hour: number }>(
    `SELECT collector.name AS collector, detained.hour, CASE WHEN kind = 'refused' THEN 'dead' ELSE 'held' END AS state,
       count(*) AS metrics, min(reason) AS reason
     FROM tidegauge.detained JOIN tidegauge.metric ON metric.id = detained.metric
       JOIN tidegauge.collector ON collector.id = metric.collector
     WHERE detained.hour BETWEEN $1 AND $2 GROUP BY collector.name, detained.hour, kind = 'refused', 3
     ORDER BY detained.hour DESC, collector.name`,
    [hourNumber(from), hourNumber(to)],
  )
  return rows.map(row => ({ ...row, hour: hourFromNumber(row.hour) }))
}

/** Collectors with due hours at or before an hour: how many, the oldest, and its fault. */
export async function lateCollectors(
  reading: RowReader,
  names: readonly string[],
  hour: Hour,
): Promise<LateCollector[]> {
  const rows = await reading.query<RawLate>(
    `SELECT collector.name AS collector, late.hours, late.oldest, collection.fault
     FROM tidegauge.collector CROSS JOIN LATERAL (SELECT count(*) AS hours, min(due.hour) AS oldest FROM tidegauge.collection AS due
         WHERE due.collector = collector.id AND due.state = 0 AND due.hour <= $1) AS late
       JOIN tidegauge.collection ON collection.collector = collector.id AND collection.hour = late.oldest
     WHERE collector.name = ANY($2) ORDER BY collector.name`,
    [hourNumber(hour), names],
  )
  return rows.map(lateCollector)
}

/** The collectors that are expected for an hour but have no row of it. @param asked with the configured starts */
export async function missingCollectors(
  reading: RowReader,
  asked: LatenessWanted['collectors'],
  hour: Hour,
): Promise<string[]> {
  const rows = await reading.query<{ name: string }>(
    `SELECT asked.name FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS asked (name, since, place)
       LEFT JOIN tidegauge.collector ON collector.name = asked.name
     WHERE coalesce(collector.since, asked.since, $3) <= $3 AND NOT EXISTS (SELECT 1 FROM tidegauge.collection AS here
       WHERE here.hour = $3 AND here.collector = collector.id)
     ORDER BY asked.place`,
    [
      asked.map(({ id }) => id),
      asked.map(({ since }) => (since === undefined ? null : hourNumber(since))),
      hourNumber(hour),
    ],
  )
  return rows.map(({ name }) => name)
}

/** Gaps of collectors in a range of hours, both ends included, by the code of their fault. */
export function gapCounts(reading: RowReader, names: readonly string[], from: Hour, to: Hour): Promise<GapCount[]> {
  return reading.query<GapCount>(
    `SELECT collector.name AS collector, collection.fault_code COLLATE "C" AS code, count(*) AS hours FROM ${rowTables}
     WHERE collector.name = ANY($1) AND collection.state = 2 AND collection.hour BETWEEN $2 AND $3
     GROUP BY 1, 2 ORDER BY 1, 2`,
    [names, hourNumber(from), hourNumber(to)],
  )
}

/** The names of all collectors, by name. */
export async function collectorNames(reading: RowReader): Promise<string[]> {
  const rows = await reading.query<{ name: string }>('SELECT name FROM tidegauge.collector ORDER BY name')
  return rows.map(({ name }) => name)
}

const ranges = {
  gap: `${rowTables} WHERE collection.state = 2`,
  due: `${rowTables} WHERE collection.state = 0`,
  unread: `tidegauge.backfill_failure AS failure JOIN tidegauge.collector ON collector.id = failure.collector
    LEFT JOIN tidegauge.collection ON collection.hour = failure.hour AND collection.collector = failure.collector
    WHERE coalesce(collection.state, 0) = 0`,
}

/** As `OperatorStore.hourRanges`. */
export async function hourRanges(
  reading: RowReader,
  state: 'gap' | 'due' | 'unread',
  { collectors, from, to }: HoursWanted = {},
): Promise<CollectorHourRange[]> {
  const table = state === 'unread' ? 'failure' : 'collection'
  const rows = await reading.query<HourOfRange>(
    `SELECT collector.name AS collector, ${table}.hour, ${table}.fault FROM ${ranges[state]}
       AND ($1::text[] IS NULL OR collector.name = ANY($1)) AND ${table}.hour BETWEEN $2 AND $3
     ORDER BY collector.name, ${table}.hour`,
    [collectors ?? null, ...hourBounds(from, to).map(withinInteger)],
  )
  return hourRangesOf(rows)
}

/** Gaps, dead and held metrics of all hours, by kind and collector. */
export async function unresolvedCounts(reading: RowReader): Promise<UnresolvedCount[]> {
  const rows = await reading.query<RawUnresolved>(
    `SELECT 'gap' AS kind, collector.name AS collector, gaps.count, gaps.hour, collection.fault AS reason
     FROM (SELECT collector, count(*) AS count, max(hour) AS hour FROM tidegauge.collection WHERE state = 2 GROUP BY collector) AS gaps
       JOIN tidegauge.collector ON collector.id = gaps.collector
       JOIN tidegauge.collection ON collection.collector = gaps.collector AND collection.hour = gaps.hour
     UNION ALL SELECT CASE WHEN kind = 'refused' THEN 'dead' ELSE 'held' END, collector.name, count(*), max(detained.hour),
       (array_agg(detained.reason ORDER BY detained.hour DESC, detained.metric))[1]
     FROM tidegauge.detained JOIN tidegauge.metric ON metric.id = detained.metric
       JOIN tidegauge.collector ON collector.id = metric.collector
     GROUP BY 1, 2 ORDER BY 1, 2`,
  )
  return rows.map(unresolvedCount)
}
