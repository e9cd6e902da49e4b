import { hourText } from './hour.ts'
import type { Metric } from './metric.ts'
import { type SentPush, sentPush } from './wire.ts'

/** 1 to 100 metrics of one destination, pushed at once. */
export type Batch = readonly [Metric, ...Metric[]]

/** Whether the list has a metric to push. */
export function isBatch(metrics: readonly Metric[]): metrics is Batch {
  return metrics.length > 0
}

/** A metric of the newest hour in a batch. */
export function newestOf(batch: Batch): Metric {
  return batch.reduce((newest, metric) => (metric.hour > newest.hour ? metric : newest))
}

/** A metric in its wire form. The hour is always explicit, since an omitted one would mis-date a late push. */
export function pushedMetric({ id, value, protocolId, unit, module, hour }: Metric): SentPush['metrics'][number] {
  // JSON leaves out a field that is `undefined`.
  return { id, value, protocolId, unit, module, timestamp: hourText(hour) }
}

/**
 * The body of a push, checked as the interface wants it.
 *
 * @throws ZodError when a metric does not fit the interface; that is a defect here, since metrics are validated when
 * collected
 */
export function pushBody(batch: Batch): string {
  return JSON.stringify(sentPush.parse({ metrics: batch.map(pushedMetric) }))
}

/** Metrics in batches of at most `size`, in their order. */
export function batchesOf(metrics: readonly Metric[], size: number): Batch[] {
  const count = Math.ceil(metrics.length / size)
  const parts: readonly (readonly Metric[])[] = Array.from({ length: count }, (_, index) =>
    metrics.slice(index * size, (index + 1) * size),
  )
  return parts.filter(isBatch)
}
