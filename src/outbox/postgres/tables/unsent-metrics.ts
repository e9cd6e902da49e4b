import { MetricSet } from '../../../model/metric-set.ts'
import type { MetricKey } from '../../contract/metrics.ts'

/** Most metrics remembered, so that a long outage of the service costs little memory. */
const unsentMax = 100_000

/**
 * Metrics that this process enqueued and has not sent: no other process can have sent them, unless it delivered since.
 * In memory and bounded, so a metric that is not listed may be new, too.
 */
export class UnsentMetrics {
  #listed = new MetricSet()

  has(metric: MetricKey): boolean {
    return this.#listed.has(metric)
  }

  add(metrics: readonly MetricKey[]): void {
    if (this.#listed.size + metrics.length <= unsentMax) this.#listed.add(...metrics)
  }

  /** Removes metrics that may have been sent: the given ones, or all when another process may have sent them. */
  mayBeSent(metrics: readonly MetricKey[] | 'all'): void {
    if (metrics === 'all') this.#listed = new MetricSet()
    else if (this.#listed.size > 0) this.#listed.delete(...metrics)
  }
}
