import { type Hour, hourAfter } from '../../model/hour.ts'
import { jumpHoursMax } from '../../model/limits.ts'
import type { Metric, MetricId } from '../../model/metric.ts'
import type { Accepted, Past } from '../../outbox/contract/metrics.ts'
import type { Metrics } from '../../outbox/sqlite/tables/metrics.ts'

/** The stored metrics that validation needs. */
export type StoredMetrics = Pick<Metrics, 'past' | 'entry'>

/**
 * History of metrics while a window is validated before it is stored: whether a value is held must not depend on how
 * many hours are read together.
 */
export class WindowPast {
  readonly #stored: StoredMetrics
  readonly #metrics = new Map<MetricId, Map<Hour, Metric>>()

  constructor(stored: StoredMetrics) {
    this.#stored = stored
  }

  /** Adds the validated metrics of an hour; hours ascend. */
  add(accepted: readonly Accepted[]): void {
    for (const { metric, hold } of accepted) {
      if (hold) continue
      const own = this.#metrics.get(metric.id) ?? new Map<Hour, Metric>()
      own.set(metric.hour, metric)
      this.#metrics.set(metric.id, own)
    }
  }

  readonly of = (id: MetricId, hour: Hour): Past | undefined => {
    const stored = this.#stored.past(id, hour)
    const nearest = this.#nearest(id, hour)
    if (!nearest) return stored
    const unit = stored ? stored.unit : nearest.unit
    const previous = { hour: nearest.hour, value: nearest.value }
    return { ...(unit === undefined ? {} : { unit }), previous }
  }

  /** The nearest value of the day before in the window; the outbox may have a nearer one. */
  #nearest(id: MetricId, hour: Hour): Metric | undefined {
    const own = this.#metrics.get(id)
    for (let back = 1; own && back <= jumpHoursMax; back += 1) {
      const at = hourAfter(hour, -back)
      const metric = own.get(at)
      if (metric) return metric
      const entry = this.#stored.entry(id, at)
      if (entry?.state === 'due' || entry?.state === 'delivered') return undefined
    }
    return undefined
  }
}
