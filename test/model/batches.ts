import type { Metric } from '../../src/model/metric.ts'
import { metrics } from '../support/metrics.ts'

/** Metrics as a batch; at least one. */
export function asBatch(all: readonly Metric[]): readonly [Metric, ...Metric[]] {
  const [first, ...others] = all
  if (!first) throw new Error('a batch has at least one metric')
  return [first, ...others]
}

/** `count` metrics of one protocol and hour. */
export function batchOf(count: number): readonly [Metric, ...Metric[]] {
  return asBatch(metrics(count))
}
