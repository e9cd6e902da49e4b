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
  const { id, protocolId } = known
  const at = hourFromNumber(hour)
  // Made at once: copies of objects are most of what reading costs.
  if (module !== undefined) {
    return unit === undefined
      ? { id, protocolId, hour: at, value, module }
      : { id, protocolId, hour: at, value, unit, module }
  }
  return unit === undefined ? { id, protocolId, hour: at, value } : { id, protocolId, hour: at, value, unit }
}
