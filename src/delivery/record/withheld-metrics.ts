import type { Metric } from '../../model/metric.ts'
import { MetricSet } from '../../model/metric-set.ts'

/**
 * Metrics that are still due in the outbox and must not be read as such: handed out, or their verdict is not recorded
 * yet. One that is removed while a read is under way stays withheld from it, as the read may be older than the verdict.
 */
export class WithheldMetrics {
  readonly #metrics = new MetricSet()
  /** For each read under way, the metrics removed since it began. */
  readonly #removed = new Set<MetricSet>()

  get size(): number {
    return this.#metrics.size
  }

  has(metric: Metric): boolean {
    return this.#metrics.has(metric)
  }

  add(metric: Metric): void {
    this.#metrics.add(metric)
  }

  delete(metric: Metric): void {
    this.#metrics.delete(metric)
    for (const removed of this.#removed) removed.add(metric)
  }

  /** Runs a read. @param read is given whether a metric it found is withheld from it */
  async during<T>(read: (isWithheld: (metric: Metric) => boolean) => Promise<T>): Promise<T> {
    const removed = new MetricSet()
    this.#removed.add(removed)
    try {
      return await read(metric => this.#metrics.has(metric) || removed.has(metric))
    } finally {
      this.#removed.delete(removed)
    }
  }
}
