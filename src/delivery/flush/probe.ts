import { type Batch, isBatch } from '../../model/batch.ts'
import { probeMetricsMax } from '../../model/limits.ts'
import type { Metric } from '../../model/metric.ts'

/**
 * The small batch that tests whether a service is up again: the first metrics after a first failure, then others and fewer,
 * in case those metrics are at fault. Pure.
 *
 * @param due in the order of delivery
 * @param failures flushes that failed in a row, counted from 1
 * @param chance a number from 0 up to 1
 */
export function probeOf(due: readonly Metric[], failures: number, chance: number): Batch | undefined {
  const size = Math.max(1, Math.floor(probeMetricsMax / 2 ** Math.floor(failures / 2)))
  const start = failures === 1 ? 0 : Math.floor(chance * Math.max(1, due.length - size + 1))
  const probe = due.slice(start, start + size)
  return isBatch(probe) ? probe : undefined
}
