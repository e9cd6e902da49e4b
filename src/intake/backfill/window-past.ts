import { type Hour, hourAfter } from '../../model/hour.ts'
import { jumpHoursMax } from '../../model/limits.ts'
import type { Metric, MetricId } from '../../model/metric.ts'
import type { Accepted, Past } from '../../outbox/contract/metrics.ts'
import type { PastOf } from '../past.ts'

/**
 * History of metrics while a window is validated before it is stored: whether a value is held must not depend on how
 * many hours are read together.
 */
export class WindowPast {
  readonly #stored: PastOf
  readonly #metrics = new Map<MetricId, Map<Hour, Metric>>()

  /** @param stored history in the outbox, before the window */
  constructor(stored: PastOf) {
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

  readonly of: PastOf = (id, hour) => {
    const stored = this.#stored(id, hour)
    const nearest = this.#nearest(id, hour, stored?.previous?.hour)
    if (!nearest) return stored
    const { unit } = stored ?? nearest
    const previous: Past['previous'] = { hour: nearest.hour, value: nearest.value }
    return { ...(unit === undefined ? {} : { unit }), previous }
  }

  /** The nearest value of the day before in the window, unless the outbox has a nearer one. */
  #nearest(id: MetricId, hour: Hour, storedHour: Hour | undefined): Metric | undefined {
    const own = this.#metrics.get(id)
    for (let back = 1; own && back <= jumpHoursMax; back += 1) {
      const at = hourAfter(hour, -back)
      const metric = own.get(at)
      if (metric || at === storedHour) return metric
    }
    return undefined
  }
}
