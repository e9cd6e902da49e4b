import { type Hour, hourText } from './hour.ts'
import type { Metric } from './metric.ts'
import { type SentPush, sentPush } from './wire.ts'

/** 1 to 100 metrics of one destination, pushed at once. */
export type Batch = readonly [Metric, ...Metric[]]

/** Whether the list has a metric to push. */
export function isBatch(metrics: readonly Metric[]): metrics is Batch {
  return metrics.length > 0
}

/** A metric in its wire form. The hour is always explicit, since an omitted one would mis-date a late push. */
export function pushedMetric(metric: Metric): SentPush['metrics'][number] {
  return sent(metric, hourText(metric.hour))
}

/** JSON leaves out a field that is `undefined`. */
function sent({ id, value, protocolId, unit, module }: Metric, timestamp: string): SentPush['metrics'][number] {
  return { id, value, protocolId, unit, module, timestamp }
}

/**
 * Body of a push, checked once more before it is sent.
 *
 * @throws ZodError when a metric does not fit the interface; that is a defect here, since metrics are validated when
 * collected
 */
export function pushBody(batch: Batch): string {
  // Most batches are of one hour, and formatting an hour costs as much as writing a metric.
  const texts = new Map<Hour, string>()
  const textOf = (hour: Hour) => {
    const text = texts.get(hour) ?? hourText(hour)
    texts.set(hour, text)
    return text
  }
  return JSON.stringify(sentPush.parse({ metrics: batch.map(metric => sent(metric, textOf(metric.hour))) }))
}

/** The two halves of at least two metrics, the larger first. */
export function halves(metrics: readonly Metric[]): Batch[] {
  return batchesOf(metrics, Math.max(1, Math.ceil(metrics.length / 2)))
}

/** Metrics in batches of at most `size`, in their order. */
export function batchesOf(metrics: readonly Metric[], size: number): Batch[] {
  const count = Math.ceil(metrics.length / size)
  const parts: readonly (readonly Metric[])[] = Array.from({ length: count }, (_, index) =>
    metrics.slice(index * size, (index + 1) * size),
  )
  return parts.filter(isBatch)
}
