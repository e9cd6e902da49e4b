import { type Batch, isBatch } from '../../src/model/batch.ts'
import type { Metric } from '../../src/model/metric.ts'
import { metrics } from '../support/metrics.ts'

/** Metrics as a batch; at least one. */
export function asBatch(all: readonly Metric[]): Batch {
  if (!isBatch(all)) throw new Error('a batch has at least one metric')
  return all
}

/** `count` metrics of one protocol and hour. */
export function batchOf(count: number): Batch {
  return asBatch(metrics(count))
}
