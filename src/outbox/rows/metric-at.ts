import { hourFromNumber } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import { descriptionAt, type KnownMetric } from './known-metric.ts'
import { RowMetric } from './row-metric.ts'

/**
 * The metric of a row.
 *
 * @param hour in hours since 1970
 */
export function metricAt(known: KnownMetric, hour: number, value: number): Metric {
  return new RowMetric(known, hourFromNumber(hour), value, descriptionAt(known, hour))
}
