import type { Hour } from './hour.ts'
import type { Metric } from './metric.ts'

type Key = Pick<Metric, 'hour' | 'id'>

/** Key of a metric, as a text: metric id and hour. */
export function metricKey({ id, hour }: Key): string {
  return `${id} ${hour}`
}

/** A set of metrics by what identifies them: metric id and hour. */
export class MetricSet {
  readonly #idsByHour = new Map<Hour, Set<string>>()

  /** @param lists of metrics that are in it */
  constructor(...lists: readonly Iterable<Key>[]) {
    for (const list of lists) this.add(...list)
  }

  get size(): number {
    let size = 0
    for (const ids of this.#idsByHour.values()) size += ids.size
    return size
  }

  has({ hour, id }: Key): boolean {
    return this.#idsByHour.get(hour)?.has(id) ?? false
  }

  add(...metrics: readonly Key[]): void {
    for (const { hour, id } of metrics) {
      const ids = this.#idsByHour.get(hour)
      if (ids) ids.add(id)
      else this.#idsByHour.set(hour, new Set([id]))
    }
  }

  delete(...metrics: readonly Key[]): void {
    for (const { hour, id } of metrics) {
      const ids = this.#idsByHour.get(hour)
      ids?.delete(id)
      if (ids?.size === 0) this.#idsByHour.delete(hour)
    }
  }
}
