import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import { jumpHoursMax } from '../../../model/limits.ts'
import type { Metric } from '../../../model/metric.ts'
import type { DeliveredHour } from '../../contract/hours.ts'
import type { MetricKey, StoredMetric, ValueAndState } from '../../contract/metrics.ts'
import { hourBounds } from '../../rows/hour-rows.ts'
import type { KnownMetric } from '../../rows/known-metric.ts'
import { metricAt } from '../../rows/metric-at.ts'
import { valueAt } from '../../rows/run-values.ts'
import { stateNumber, stateOf } from '../../rows/states.ts'
import { metricsById, metricsByNumber, type RowReader } from './known-metrics.ts'
import { holdsText, numbersOf, runColumnsText, type StoredRun, withinInteger } from './run-rows.ts'
import { prunedNumber } from './tally-changes.ts'

interface RawValue {
  /** Place in the list that was asked for, from 1 on. */
  readonly place: number
  readonly state: number
  /** The bytes of its value. */
  readonly bytes: Buffer
}

/** Value and state of metrics, dropped ones included, in the order asked; `undefined` where there is none. */
export async function storedValues(
  reading: RowReader,
  metrics: readonly MetricKey[],
): Promise<(ValueAndState | undefined)[]> {
  const rows = await reading.query<RawValue>(
    `SELECT asked.place::integer, outbox.state, substr(outbox.metric_values, 8 * (metric.id - outbox.first) + 1, 8) AS bytes
     FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS asked (name, hour, place)
       JOIN tidegauge.metric ON metric.name = asked.name
       JOIN tidegauge.outbox ON outbox.hour = asked.hour AND ${holdsText('metric.id')}`,
    [metrics.map(({ id }) => id), metrics.map(({ hour }) => hourNumber(hour))],
  )
  const byPlace = new Map(rows.map(row => [row.place, row]))
  return metrics.map((_, index) => {
    const row = byPlace.get(index + 1)
    return row && { value: valueAt(row.bytes, 0), state: stateOf(row.state) }
  })
}

/** A metric of an hour as it would be sent; `undefined` unless it is due or delivered. */
export async function presentMetric(reading: RowReader, metric: MetricKey): Promise<Metric | undefined> {
  const [known, [stored]] = await Promise.all([metricsById(reading, [metric.id]), storedValues(reading, [metric])])
  const own = known.get(metric.id)
  const isSendable = stored?.state === 'due' || stored?.state === 'delivered'
  return own && isSendable ? metricAt(own, hourNumber(metric.hour), stored.value) : undefined
}

/** The newest delivered metric of some protocols within the day up to an hour; `undefined` when there is none. */
export async function lastDelivered(
  reading: RowReader,
  protocolIds: readonly string[],
  hour: Hour,
): Promise<Metric | undefined> {
  const last = withinInteger(hourNumber(hour))
  const [run] = await reading.query<StoredRun>(
    `SELECT ${runColumnsText} FROM tidegauge.outbox JOIN tidegauge.protocol ON protocol.id = outbox.protocol
     WHERE outbox.hour BETWEEN $2 AND $3 AND outbox.state = ${stateNumber('delivered')} AND protocol.name = ANY($1)
     ORDER BY outbox.hour DESC, outbox.first LIMIT 1`,
    [protocolIds, last - jumpHoursMax, last],
  )
  const known = run && (await metricsByNumber(reading, [run.first])).get(run.first)
  return known && metricAt(known, run.hour, valueAt(run.bytes, 0))
}

/** Whether any metric of some protocols was ever delivered, pruned ones included. */
export async function hasDelivered(reading: RowReader, protocolIds: readonly string[]): Promise<boolean> {
  const rows = await reading.query(
    `SELECT 1 FROM tidegauge.tally JOIN tidegauge.protocol ON protocol.id = tally.protocol
     WHERE state IN (${stateNumber('delivered')}, ${prunedNumber}) AND metrics > 0 AND name = ANY($1) LIMIT 1`,
    [protocolIds],
  )
  return rows.length > 0
}

/** Every metric in a range of hours, both ends included, by hour; dropped ones are left out. */
export async function metricsBetween(reading: RowReader, from: Hour, to: Hour): Promise<StoredMetric[]> {
  const range = [hourNumber(from), hourNumber(to)]
  const [runs, reasons] = await Promise.all([
    reading.query<StoredRun>(
      `SELECT ${runColumnsText} FROM tidegauge.outbox
       WHERE hour BETWEEN $1 AND $2 AND state <> ${stateNumber('dropped')} ORDER BY hour, first`,
      range,
    ),
    reasonsBetween(reading, range),
  ])
  const known = await metricsByNumber(reading, runs.flatMap(numbersOf))
  return runs.flatMap(run => numbersOf(run).flatMap(number => storedMetric(known.get(number), run, number, reasons)))
}

/** As `StatusStore.newest`. */
export async function newestMetrics(reading: RowReader, from: Hour, to: Hour): Promise<StoredMetric[]> {
  const range = [hourNumber(from), hourNumber(to)]
  const [found, reasons] = await Promise.all([
    // Of each metric one row, found from the newest hour on.
    reading.query<StoredRun & { readonly number: number }>(
      `SELECT metric.id AS number, run.* FROM tidegauge.metric CROSS JOIN LATERAL (
         SELECT ${runColumnsText} FROM tidegauge.outbox
         WHERE outbox.hour BETWEEN $1 AND $2 AND outbox.state <> ${stateNumber('dropped')} AND ${holdsText('metric.id')}
         ORDER BY outbox.hour DESC LIMIT 1) AS run
       ORDER BY metric.id`,
      range,
    ),
    reasonsBetween(reading, range),
  ])
  const known = await metricsByNumber(
    reading,
    found.map(({ number }) => number),
  )
  return found.flatMap(({ number, ...run }) => storedMetric(known.get(number), run, number, reasons))
}

type Reasons = ReadonlyMap<string, string>

async function reasonsBetween(reading: RowReader, range: readonly number[]): Promise<Reasons> {
  const rows = await reading.query<{ hour: number; metric: number; reason: string }>(
    'SELECT hour, metric, reason FROM tidegauge.detained WHERE hour BETWEEN $1 AND $2',
    range,
  )
  return new Map(rows.map(({ hour, metric, reason }) => [`${hour} ${metric}`, reason]))
}

function storedMetric(
  known: KnownMetric | undefined,
  run: StoredRun,
  number: number,
  reasons: Reasons,
): StoredMetric[] {
  if (!known) return []
  const state = stateOf(run.state)
  const stored = {
    ...metricAt(known, run.hour, valueAt(run.bytes, number - run.first)),
    state,
    collector: known.collector,
  }
  const isDetained = state === 'dead' || state === 'held'
  const reason = isDetained ? reasons.get(`${run.hour} ${number}`) : undefined
  return [reason === undefined ? stored : { ...stored, reason }]
}

/** Hours of some collectors with a delivered metric that is not pruned, oldest first. */
export async function deliveredHours(
  reading: RowReader,
  collectors: readonly string[],
  from?: Hour,
  to?: Hour,
): Promise<DeliveredHour[]> {
  // Runs of other hours mostly have the same numbers.
  const rows = await reading.query<{ hour: number; collector: string }>(
    `WITH delivered AS MATERIALIZED (
       SELECT hour, first, metrics FROM tidegauge.outbox
       WHERE state = ${stateNumber('delivered')} AND hour BETWEEN $2 AND $3),
     own AS (
       SELECT DISTINCT run.first, run.metrics, collector.name AS collector
       FROM (SELECT DISTINCT first, metrics FROM delivered) AS run
         JOIN tidegauge.metric ON metric.id BETWEEN run.first AND run.first + run.metrics - 1
         JOIN tidegauge.collector ON collector.id = metric.collector
       WHERE collector.name = ANY($1))
     SELECT DISTINCT hour, collector FROM delivered JOIN own USING (first, metrics) ORDER BY hour, collector`,
    [collectors, ...hourBounds(from, to).map(withinInteger)],
  )
  return rows.map(({ hour, collector }) => ({ collector, hour: hourFromNumber(hour) }))
}
