import { hourNumber } from '../../../model/hour.ts'
import type { MetricKey } from '../../contract/metrics.ts'
import type { MetricRegistry } from './metric-registry.ts'

/** Most metrics remembered, so that a long outage of the service costs little memory. */
const unsentMax = 100_000

/**
 * Metrics that this process enqueued and has not sent: no earlier process can have sent them. In memory and bounded, so
 * a metric that is not listed may be new, too.
 */
export class Unsent {
  readonly #registry: MetricRegistry
  readonly #byHour = new Map<number, Set<number>>()
  #size = 0

  constructor(registry: MetricRegistry) {
    this.#registry = registry
  }

  has({ id, hour }: MetricKey): boolean {
    const number = this.#registry.metric(id)?.number
    return number !== undefined && this.#has(hourNumber(hour), number)
  }

  add(hour: number, metric: number): void {
    if (this.#size >= unsentMax || this.#has(hour, metric)) return
    this.#byHour.set(hour, (this.#byHour.get(hour) ?? new Set()).add(metric))
    this.#size += 1
  }

  remove(hour: number, metric: number): void {
    const ofHour = this.#byHour.get(hour)
    if (!ofHour?.delete(metric)) return
    this.#size -= 1
    if (ofHour.size === 0) this.#byHour.delete(hour)
  }

  /** Removes the metrics of an hour with consecutive numbers. */
  removeRun(hour: number, from: number, to: number): void {
    const ofHour = this.#byHour.get(hour)
    if (!ofHour) return
    this.#size -= ofHour.size
    for (let metric = from; metric <= to; metric += 1) ofHour.delete(metric)
    this.#size += ofHour.size
    if (ofHour.size === 0) this.#byHour.delete(hour)
  }

  /** Removes metrics that may have been sent: the given ones, or all when another process may have sent them. */
  mayBeSent(metrics: readonly MetricKey[] | 'all'): void {
    if (metrics === 'all') {
      this.#byHour.clear()
      this.#size = 0
      return
    }
    for (const { id, hour } of metrics) this.remove(hourNumber(hour), this.#registry.metric(id)?.number ?? 0)
  }

  #has(hour: number, metric: number): boolean {
    return this.#byHour.get(hour)?.has(metric) ?? false
  }
}
