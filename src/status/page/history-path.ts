import type { MetricId } from '../../model/metric.ts'

/** Path of the page with a metric's history. */
export function historyPath(id: MetricId): string {
  return `/history/${encodeURIComponent(id)}`
}
