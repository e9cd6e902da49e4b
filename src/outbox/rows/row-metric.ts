import type { Hour } from '../../model/hour.ts'
import type { Metric, MetricId } from '../../model/metric.ts'
import type { MetricDescription } from '../contract/metrics.ts'
import type { KnownMetric } from './known-metric.ts'

/**
 * A metric that was read from a row. It remembers its number in the file, which saves looking its id up for a batch, for
 * what is under way, and for a verdict. To everyone else it is a plain metric.
 */
export class RowMetric implements Metric {
  readonly id: MetricId
  readonly protocolId: string
  readonly hour: Hour
  readonly value: number
  declare readonly unit?: string
  declare readonly module?: string
  readonly #known: KnownMetric

  constructor(known: KnownMetric, hour: Hour, value: number, { unit, module }: MetricDescription) {
    this.#known = known
    this.id = known.id
    this.protocolId = known.protocolId
    this.hour = hour
    this.value = value
    if (unit !== undefined) this.unit = unit
    if (module !== undefined) this.module = module
  }

  /** The stored facts about a metric when it was read; `undefined` when it was not read from a row. */
  static knownOf(metric: object): KnownMetric | undefined {
    return #known in metric ? metric.#known : undefined
  }
}
