import { hourFromNumber } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import { descriptionAt, type KnownMetric } from './metric-registry.ts'

/**
 * The metric of a row.
 *
 * @param hour in hours since 1970
 */
export function metricAt(known: KnownMetric, hour: number, value: number): Metric {
  const { unit, module } = descriptionAt(known, hour)
  const metric = { id: known.id, protocolId: known.protocolId, hour: hourFromNumber(hour), value }
  if (unit === undefined && module === undefined) return metric
  return { ...metric, ...(unit === undefined ? {} : { unit }), ...(module === undefined ? {} : { module }) }
}
