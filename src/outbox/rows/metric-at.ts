import { hourFromNumber } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import { type KnownMetric, seriesAt } from './known-metric.ts'

/**
 * The metric of a row.
 *
 * @param hour in hours since 1970
 */
export function metricAt(known: KnownMetric, hour: number, value: number): Metric {
  return { ...seriesAt(known, hour), hour: hourFromNumber(hour), value }
}
