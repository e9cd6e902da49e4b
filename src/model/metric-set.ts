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
  #size = 0

  get size(): number {
    return this.#size
  }

  has({ hour, id }: Key): boolean {
    return this.#idsByHour.get(hour)?.has(id) ?? false
  }

  /** Ids of the metrics of an hour. */
  idsOf(hour: Hour): ReadonlySet<string> | undefined {
    return this.#idsByHour.get(hour)
  }

  add({ hour, id }: Key): void {
    const ids = this.#idsByHour.get(hour) ?? new Set()
    if (ids.size === 0) this.#idsByHour.set(hour, ids)
    this.#size -= ids.size
    ids.add(id)
    this.#size += ids.size
  }

  delete({ hour, id }: Key): void {
    const ids = this.#idsByHour.get(hour)
    if (!ids?.delete(id)) return
    this.#size -= 1
    if (ids.size === 0) this.#idsByHour.delete(hour)
  }
}
