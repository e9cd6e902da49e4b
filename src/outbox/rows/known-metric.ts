import type { MetricId, MetricSeries } from '../../model/metric.ts'
import { type Hold, type MetricDescription, type Past, unitHold } from '../contract/metrics.ts'

/** The stored facts about a metric id, apart from its values. */
export interface KnownMetric {
  /** Its number in the store. */
  readonly number: number
  readonly id: MetricId
  /** Number of its protocol. */
  readonly protocol: number
  readonly protocolId: string
  readonly collector: string
  /**
   * Oldest first. None where they were lost in a damaged file: the metric counts as new, and its next value locks its unit
   * for all of its hours.
   */
  readonly descriptions: readonly DescribedFrom[]
}

/** Unit and module of a metric from an hour on. */
export interface DescribedFrom extends MetricDescription {
  /** In hours since 1970. */
  readonly since: number
}

/** The stored facts before a value of an hour; `undefined` for a metric that counts as new. */
export function pastAt(
  known: KnownMetric | undefined,
  hour: number,
  previous: () => Past['previous'],
): Past | undefined {
  if (!known || known.descriptions.length === 0) return undefined
  const [{ unit }, before] = [descriptionAt(known, hour), previous()]
  return { ...(unit !== undefined && { unit }), ...(before && { previous: before }) }
}

/**
 * Reason to hold a value: the one that it was judged with, or a unit that was changed since. Only a person changes that
 * again.
 */
export function holdAt(
  known: KnownMetric,
  hour: number,
  metric: Pick<MetricSeries, 'unit'>,
  judged: Hold | undefined,
): Hold | undefined {
  if (judged?.kind === 'unit' || known.descriptions.length === 0) return judged
  return unitHold(metric, descriptionAt(known, hour)) ?? judged
}

/**
 * The descriptions to store where a metric is described in a way from an hour on. Later hours that have a value keep their
 * unit, and the module of a past hour does not change.
 *
 * @param hasLater whether a later hour has a due or delivered value
 */
export function describedFrom(
  known: KnownMetric,
  hour: number,
  { unit, module }: MetricDescription,
  hasLater: () => boolean,
): readonly DescribedFrom[] {
  const described = { since: hour, ...(unit !== undefined && { unit }), ...(module !== undefined && { module }) }
  const { descriptions } = known
  if (descriptions.length === 0) return [described]
  const old = descriptionAt(known, hour)
  const isPast = hour < (descriptions.at(-1)?.since ?? 0)
  if (old.unit === unit) return old.module === module || isPast ? [] : [described]
  return hasLater() ? [{ ...descriptionAt(known, hour + 1), since: hour + 1 }, described] : [described]
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
