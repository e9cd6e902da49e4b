import type { MetricId, MetricSeries } from '../../model/metric.ts'
import type { MetricDescription } from '../contract/metrics.ts'

/** The stored facts about a metric id, apart from its values. */
export interface KnownMetric {
  /** Its number in the store. */
  readonly number: number
  readonly id: MetricId
  /** Number of its protocol. */
  readonly protocol: number
  readonly protocolId: string
  readonly collector: string
  /** Oldest first, at least one; `since` counts hours since 1970. */
  readonly descriptions: readonly (MetricDescription & { readonly since: number })[]
}

/** Description of a metric at an hour: the last one up to it, else the first of all. */
export function descriptionAt({ descriptions }: Pick<KnownMetric, 'descriptions'>, hour: number): MetricDescription {
  if (descriptions.length === 1) return descriptions[0] ?? {}
  return descriptions.findLast(({ since }) => since <= hour) ?? descriptions[0] ?? {}
}

/** The series of a metric at an hour, in hours since 1970. */
export function seriesAt(known: KnownMetric, hour: number): MetricSeries {
  const { unit, module } = descriptionAt(known, hour)
  const { id, protocolId } = known
  return { id, protocolId, ...(unit !== undefined && { unit }), ...(module !== undefined && { module }) }
}
