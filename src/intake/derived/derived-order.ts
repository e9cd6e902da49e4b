import type { CollectorConfig } from '../../config/config.ts'
import type { Hour } from '../../model/hour.ts'
import { type MetricId, metricId } from '../../model/metric.ts'
import type { DueHour } from '../../outbox/contract/hours.ts'
import type { CollectorDescription } from '../../runner/runner.ts'
import { inputSpans, isDerived } from './derived-values.ts'

/** The order of derived collectors among all: each after those that give its inputs. */
export class DerivedOrder {
  readonly derived: readonly CollectorConfig[]
  readonly #all: readonly CollectorConfig[]
  readonly #owners = new Map<MetricId, string>()

  constructor(collectors: readonly CollectorConfig[]) {
    this.#all = collectors
    this.derived = collectors.filter(isDerived)
  }

  /** Takes note of the metrics that a collector gives. */
  described({ id, protocolId }: CollectorConfig, { metrics }: CollectorDescription): void {
    if (this.derived.length === 0) return
    for (const label of Object.keys(metrics)) this.#owners.set(metricId(protocolId, label), id)
  }

  /** The collectors that give inputs of a derived one, as far as they are described. */
  givers(collector: CollectorConfig): readonly CollectorConfig[] {
    const ids = new Set(inputSpans(collector).map(({ id }) => this.#owners.get(id)))
    return this.#all.filter(({ id }) => ids.has(id) && id !== collector.id)
  }

  /** The collector that gives an input of a derived one; where that gives it itself, those that give its other inputs. */
  giversOf(input: MetricId, taker: string): readonly CollectorConfig[] {
    const owner = this.#owners.get(input)
    if (owner !== taker) return this.#all.filter(({ id }) => id === owner)
    return this.#all.filter(({ id }) => id === taker).flatMap(collector => this.givers(collector))
  }

  /** The collectors that give inputs of some, directly or by another derived one. */
  allGivers(collectors: readonly CollectorConfig[]): readonly CollectorConfig[] {
    const collectorsFound = new Set<CollectorConfig>()
    const queue = collectors.filter(isDerived)
    for (const collector of queue) {
      for (const giver of this.givers(collector)) {
        if (isDerived(giver) && !collectorsFound.has(giver)) queue.push(giver)
        collectorsFound.add(giver)
      }
    }
    return [...collectorsFound]
  }

  /** The derived collectors that compute from metrics of another one. */
  takers(giver: CollectorConfig): readonly CollectorConfig[] {
    return this.derived.filter(one => this.givers(one).includes(giver))
  }

  /**
   * The due hours of derived collectors that are computed now, by collector, the oldest first: an hour waits while a collector
   * reads an input of it, and past hours until no hour of such a collector is under way. One collector's are computed together.
   *
   * @param dueHours of all collectors that were asked for
   * @param isPlanned whether a collector's hours up to the current one are rows
   */
  startable(
    dueHours: readonly DueHour[],
    underWay: readonly DueHour[],
    current: Hour,
    isPlanned: (id: string) => boolean,
  ): (readonly DueHour[])[] {
    const busyHours = [...underWay, ...dueHours]
    return this.derived.flatMap(collector => {
      if (underWay.some(one => one.collector === collector.id)) return []
      const givers = this.givers(collector).map(({ id }) => id)
      const collectorHours = dueHours.filter(one => one.collector === collector.id)
      const isFree = (hour: Hour) =>
        givers.every(isPlanned) &&
        !busyHours.some(one => givers.includes(one.collector) && (one.hour === hour || hour < current))
      const free = collectorHours.filter(({ hour }) => isFree(hour)).toSorted((a, b) => a.hour - b.hour)
      return free.length > 0 ? [free] : []
    })
  }
}
