import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import { MetricSet } from '../../../model/metric-set.ts'
import type { MetricKey } from '../../contract/metrics.ts'
import type { DueWanted } from '../../contract/selections.ts'
import { metricAt } from '../../rows/metric-at.ts'
import { valueAt } from '../../rows/run-values.ts'
import { stateNumber } from '../../rows/states.ts'
import { metricsByNumber, type RowReader } from './known-metrics.ts'
import { holdsText, numbersOf, runColumnsText, type StoredRun, withinInteger } from './run-rows.ts'

/** A range of hours, in hours since 1970, and the direction to read it in. */
interface DueRange {
  readonly from: number
  readonly to: number
  readonly first: 'oldest' | 'newest'
}

/** Due metrics of some protocols: the hours from `newestFirstFrom` on first, then the backlog. */
export async function dueMetrics(reading: RowReader, wanted: DueWanted, limit: number): Promise<Metric[]> {
  const leftOut = new MetricSet()
  for (const some of wanted.except ?? []) leftOut.add(...some)
  // The metrics that are left out may all come first.
  const runs = await firstRuns(reading, wanted, limit + leftOut.size)
  return metricsOf(reading, runs, leftOut, limit)
}

/** Runs of so many metrics, or a few more, if there are as many. */
async function firstRuns(
  reading: RowReader,
  { protocolIds, newestFirstFrom, latest }: DueWanted,
  metrics: number,
): Promise<StoredRun[]> {
  const [start, last] = [hourNumber(newestFirstFrom), withinInteger(hourNumber(latest))]
  const [fresh, backlog] = await Promise.all([
    dueRuns(reading, protocolIds, { from: start, to: last, first: 'newest' }, metrics),
    dueRuns(reading, protocolIds, { from: 0, to: Math.min(start - 1, last), first: 'oldest' }, metrics),
  ])
  return upTo([...fresh, ...backlog], metrics)
}

async function metricsOf(
  reading: RowReader,
  runs: readonly StoredRun[],
  leftOut: MetricSet,
  limit: number,
): Promise<Metric[]> {
  const known = await metricsByNumber(reading, runs.flatMap(numbersOf))
  const found: Metric[] = []
  for (const run of runs) {
    const hour = hourFromNumber(run.hour)
    for (const number of numbersOf(run)) {
      const metric = known.get(number)
      if (!metric || leftOut.has({ id: metric.id, hour })) continue
      if (found.length === limit) return found
      found.push(metricAt(metric, run.hour, valueAt(run.bytes, number - run.first)))
    }
  }
  return found
}

/** The first runs, until they hold so many metrics. */
function upTo(runs: readonly StoredRun[], metrics: number): StoredRun[] {
  let sum = 0
  return runs.filter(run => {
    const isWanted = sum < metrics
    sum += run.metrics
    return isWanted
  })
}

/** Hours with due metrics are known from their counts, so neither delivered metrics nor another protocol's backlog is read. */
function dueRuns(
  reading: RowReader,
  protocolIds: readonly string[],
  { from, to, first }: DueRange,
  metrics: number,
): Promise<StoredRun[]> {
  const order = first === 'oldest' ? 'hour' : 'hour DESC'
  return reading.query<StoredRun>(
    `WITH own AS (
       SELECT protocol.id, place FROM unnest($1::text[]) WITH ORDINALITY AS asked (name, place)
         JOIN tidegauge.protocol ON protocol.name = asked.name),
     counted AS (
       SELECT own.id AS protocol, place, due.hour, due.metrics FROM own CROSS JOIN LATERAL (
         SELECT hour, metrics FROM tidegauge.due_count WHERE protocol = own.id AND hour BETWEEN $2 AND $3 AND metrics > 0
         ORDER BY ${order} LIMIT $4) AS due),
     summed AS (
       SELECT *, sum(metrics) OVER (ORDER BY ${order}, place) - metrics AS before FROM counted)
     SELECT ${runColumnsText} FROM summed JOIN tidegauge.outbox
       ON outbox.hour = summed.hour AND outbox.protocol = summed.protocol AND outbox.state = ${stateNumber('due')}
     WHERE before < $4 ORDER BY ${first === 'oldest' ? 'outbox.hour' : 'outbox.hour DESC'}, place, outbox.first`,
    [protocolIds, from, to, metrics],
  )
}

/** The oldest or newest due hour of some protocols, up to `latest`; `undefined` when none is due. */
export async function dueHour(
  reading: RowReader,
  which: 'oldest' | 'newest',
  protocolIds: readonly string[],
  latest: Hour,
): Promise<Hour | undefined> {
  const [end, order] = which === 'oldest' ? ['min', 'hour'] : ['max', 'hour DESC']
  const [row] = await reading.query<{ hour: number | null }>(
    `SELECT ${end}(due.hour) AS hour FROM tidegauge.protocol CROSS JOIN LATERAL (
       SELECT hour FROM tidegauge.due_count WHERE protocol = protocol.id AND hour <= $2 AND metrics > 0
       ORDER BY ${order} LIMIT 1) AS due
     WHERE protocol.name = ANY($1)`,
    [protocolIds, withinInteger(hourNumber(latest))],
  )
  return row?.hour == null ? undefined : hourFromNumber(row.hour)
}

/** Number of due metrics of some protocols at or before an hour. */
export async function dueUpTo(reading: RowReader, protocolIds: readonly string[], hour: Hour): Promise<number> {
  // The total is known, and later ones are few.
  const [row] = await reading.query<{ metrics: number }>(
    `SELECT coalesce(sum(tally.metrics - coalesce(
         (SELECT sum(metrics) FROM tidegauge.due_count WHERE protocol = tally.protocol AND hour > $2), 0)), 0)::bigint AS metrics
     FROM tidegauge.tally JOIN tidegauge.protocol ON protocol.id = tally.protocol
     WHERE tally.state = ${stateNumber('due')} AND protocol.name = ANY($1)`,
    [protocolIds, withinInteger(hourNumber(hour))],
  )
  return row?.metrics ?? 0
}

/** Those of some metrics that are still due. */
export async function stillDue<T extends MetricKey>(reading: RowReader, metrics: readonly T[]): Promise<T[]> {
  const rows = await reading.query<{ place: number }>(
    `SELECT asked.place::integer FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS asked (name, hour, place)
       JOIN tidegauge.metric ON metric.name = asked.name
       JOIN tidegauge.outbox ON outbox.hour = asked.hour AND ${holdsText('metric.id')}
     WHERE outbox.state = ${stateNumber('due')}`,
    [metrics.map(({ id }) => id), metrics.map(({ hour }) => hourNumber(hour))],
  )
  const due = new Set(rows.map(({ place }) => place))
  return metrics.filter((_, index) => due.has(index + 1))
}
