import { hourNumber } from '../../../model/hour.ts'
import type { MetricKey } from '../../contract/metrics.ts'
import type { Transaction } from '../connection/transaction.ts'
import type { NumbersAtHour } from './edited-runs.ts'
import type { RowReader } from './known-metrics.ts'

/** A metric by its number and that of its hour, in hours since 1970. */
interface NumberOfHour {
  readonly hour: number
  readonly number: number
}

/**
 * Those of some metrics that are listed: their value may have changed after one of its values was sent, by this process or
 * another. The old value may still be on its way to the service. Metrics held meanwhile stay listed, because they become
 * due again with the new value.
 *
 * @returns `HOUR NUMBER` of each
 */
export async function listedCorrections(
  reading: RowReader,
  ranges: readonly NumbersAtHour[],
): Promise<ReadonlySet<string>> {
  const rows = await reading.query<{ hour: number; metric: number }>(
    `SELECT correction.hour, correction.metric
     FROM unnest($1::integer[], $2::integer[], $3::integer[]) AS wanted (hour, low, high)
       JOIN tidegauge.correction ON correction.hour = wanted.hour AND correction.metric BETWEEN wanted.low AND wanted.high`,
    [ranges.map(({ hour }) => hour), ranges.map(({ from }) => from), ranges.map(({ to }) => to)],
  )
  return new Set(rows.map(({ hour, metric }) => `${hour} ${metric}`))
}

/** Those of some metrics that are listed and stored: places in the list. */
export async function correctedOf(reading: RowReader, metrics: readonly MetricKey[]): Promise<ReadonlySet<number>> {
  const rows = await reading.query<{ place: number }>(
    `SELECT asked.place::integer FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS asked (name, hour, place)
       JOIN tidegauge.metric ON metric.name = asked.name
       JOIN tidegauge.correction ON correction.hour = asked.hour AND correction.metric = metric.id`,
    [metrics.map(({ id }) => id), metrics.map(({ hour }) => hourNumber(hour))],
  )
  return new Set(rows.map(({ place }) => place - 1))
}

/** Removes metrics that will not be sent any more, or are delivered. */
export function removeCorrections(transaction: Transaction, metrics: readonly NumberOfHour[]): void {
  if (metrics.length === 0) return
  transaction.later(
    `DELETE FROM tidegauge.correction USING unnest($1::integer[], $2::integer[]) AS gone (hour, metric)
     WHERE correction.hour = gone.hour AND correction.metric = gone.metric`,
    columns(metrics),
  )
}

/** Lists metrics. @param atMs of each, in milliseconds since 1970 */
export function addCorrections(
  transaction: Transaction,
  metrics: readonly (NumberOfHour & { readonly atMs: number })[],
): void {
  if (metrics.length === 0) return
  transaction.later(
    `INSERT INTO tidegauge.correction (hour, metric, at_ms)
     SELECT * FROM unnest($1::integer[], $2::integer[], $3::bigint[])
     ON CONFLICT (hour, metric) DO UPDATE SET at_ms = excluded.at_ms`,
    [...columns(metrics), metrics.map(({ atMs }) => atMs)],
  )
}

const columns = (metrics: readonly NumberOfHour[]) => [
  metrics.map(({ hour }) => hour),
  metrics.map(({ number }) => number),
]
