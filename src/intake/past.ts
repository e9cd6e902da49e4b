import { type Hour, hourAfter } from '../model/hour.ts'
import { jumpHoursMax } from '../model/limits.ts'
import type { Metric, MetricId } from '../model/metric.ts'
import type { IntakeStore } from '../outbox/contract/intake-store.ts'
import type { Accepted, MetricKey, Past } from '../outbox/contract/metrics.ts'
import type { IntakeOutbox } from '../outbox/contract/outbox.ts'

/** History of a metric id at an hour; `undefined` for a new one. */
export type PastOf = (id: MetricId, hour: Hour) => Past | undefined

/** The part of the outbox that knows the history of metrics. */
export type PastStore = Pick<IntakeStore, 'pasts'>

/** The history of metrics; an error is reported to the outbox, as it is not the collector's failure. */
export function reportedPasts({ intake, health }: IntakeOutbox): PastStore {
  return {
    pasts: async metrics => {
      try {
        return await intake.pasts(metrics)
      } catch (error) {
        health.recover(error)
        throw error
      }
    },
  }
}

/** The history where nothing was ever stored. */
export const noPasts: PastStore = { pasts: async metrics => metrics.map(() => undefined) }

/** Reads the history of metrics at once, to judge their new values by. */
export async function readPasts(store: PastStore, metrics: readonly MetricKey[]): Promise<PastOf> {
  const pasts = metrics.length > 0 ? await store.pasts(metrics) : []
  const known = new Map(metrics.map((metric, place) => [keyOf(metric.id, metric.hour), pasts[place]]))
  return (id, hour) => known.get(keyOf(id, hour))
}

function keyOf(id: MetricId, hour: Hour): string {
  return `${hour} ${id}`
}

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
