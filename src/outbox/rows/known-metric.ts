import type { MetricId } from '../../model/metric.ts'
import type { MetricDescription } from '../contract/metrics.ts'

/** The numbers that rows hold of a metric id. */
export interface MetricNumbers {
  /** Its number in the store. */
  readonly number: number
  /** Number of its protocol. */
  readonly protocol: number
}

/** The stored facts about a metric id, apart from its values. */
export interface KnownMetric extends MetricNumbers {
  readonly id: MetricId
  /** The registry of the store in which it has these numbers; absent where no metric remembers them. */
  readonly registry?: object
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
