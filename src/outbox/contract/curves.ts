import { type Hour, hoursFrom } from '../../model/hour.ts'
import type { MetricId } from '../../model/metric.ts'
import type { StoredMetric } from './metrics.ts'

/** Values of a metric in a range of hours. */
export interface MetricCurve {
  /** Its newest value in the range. */
  readonly latest: Omit<StoredMetric, 'reason'>
  /** One for each hour of the range, the oldest first; `null` where there is none. */
  readonly values: readonly (number | null)[]
}

/** The curves of metrics that are sorted by hour, in the order in which they come first. */
export function curvesOf(metrics: readonly StoredMetric[], from: Hour, to: Hour): MetricCurve[] {
  const places = new Map(hoursFrom(from, to).map((hour, place) => [hour, place]))
  const curves = new Map<MetricId, { latest: MetricCurve['latest']; readonly values: (number | null)[] }>()
  for (const { reason: _, ...latest } of metrics) {
    const curve = curves.get(latest.id) ?? { latest, values: Array<null>(places.size).fill(null) }
    curve.latest = latest
    curve.values[places.get(latest.hour) ?? 0] = latest.value
    curves.set(latest.id, curve)
  }
  return [...curves.values()]
}
