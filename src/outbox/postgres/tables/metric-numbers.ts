import type { MetricKey } from '../../contract/metrics.ts'
import type { KnownMetric } from '../../rows/known-metric.ts'
import type { RowReader } from './known-metrics.ts'

/** The numbers of a metric and its protocol. */
export type NumberedMetric = Pick<KnownMetric, 'number' | 'protocol'>

/** The numbers of some metrics, by id; unknown ones are absent. */
export async function metricNumbers(
  reading: RowReader,
  metrics: readonly Pick<MetricKey, 'id'>[],
): Promise<ReadonlyMap<string, NumberedMetric>> {
  const ids = [...new Set(metrics.map(({ id }) => id))]
  const rows = await reading.query<NumberedMetric & { readonly name: string }>(
    'SELECT name, id AS number, protocol FROM tidegauge.metric WHERE name = ANY ($1::text[])',
    [ids],
  )
  return new Map(rows.map(({ name, ...numbers }) => [name, numbers]))
}
