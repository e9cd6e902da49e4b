import { type Hour, hourText } from './hour.ts'
import type { Metric } from './metric.ts'
import { type SentPush, sentPush } from './wire.ts'

/** 1 to 100 metrics of one destination, pushed at once. */
export type Batch = readonly [Metric, ...Metric[]]

/** Whether there is anything to push. */
export function isBatch(metrics: readonly Metric[]): metrics is Batch {
  return metrics.length > 0
}

/** A metric as it is sent: the hour is always explicit, since an omitted one would mis-date a late push. */
export function pushedMetric(metric: Metric): SentPush['metrics'][number] {
  return sent(metric, hourText(metric.hour))
}

/** What has no value is left out when it is written as JSON. */
function sent({ id, value, protocolId, unit, module }: Metric, timestamp: string): SentPush['metrics'][number] {
  return { id, value, protocolId, unit, module, timestamp }
}

/**
 * The body of a push, checked once more before it leaves.
 *
 * @throws ZodError when a metric does not fit the interface: a defect here, since metrics are checked on their way in
 */
export function pushBody(batch: Batch): string {
  // Most batches are of one hour, and writing an hour costs as much as writing a metric.
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
