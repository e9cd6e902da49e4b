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

  add(...metrics: readonly Key[]): void {
    this.#eachHour(metrics, (ids, id) => ids.add(id))
  }

  delete(...metrics: readonly Key[]): void {
    this.#eachHour(metrics, (ids, id) => ids.delete(id))
  }

  /** Changes the ids of an hour, looked up once for metrics of that hour in a row. */
  #eachHour(metrics: readonly Key[], change: (ids: Set<string>, id: string) => void): void {
    let [hour, ids]: [Hour | undefined, Set<string>] = [undefined, new Set()]
    for (const metric of metrics) {
      if (metric.hour !== hour) {
        this.#keep(hour, ids)
        hour = metric.hour
        ids = this.#idsByHour.get(hour) ?? new Set()
        this.#size -= ids.size
      }
      change(ids, metric.id)
    }
    this.#keep(hour, ids)
  }

  #keep(hour: Hour | undefined, ids: Set<string>): void {
    if (hour === undefined) return
    this.#size += ids.size
    if (ids.size > 0) this.#idsByHour.set(hour, ids)
    else this.#idsByHour.delete(hour)
  }
}
