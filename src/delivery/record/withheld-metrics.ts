import type { Metric } from '../../model/metric.ts'
import { MetricSet } from '../../model/metric-set.ts'
import type { DueWanted } from '../../outbox/contract/selections.ts'

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

  /** The metrics, as they are at the time of each look. */
  get metrics(): Pick<MetricSet, 'idsOf'> {
    return this.#metrics
  }

  has(metric: Metric): boolean {
    return this.#metrics.has(metric)
  }

  add(...metrics: readonly Metric[]): void {
    this.#metrics.add(...metrics)
  }

  delete(...metrics: readonly Metric[]): void {
    this.#metrics.delete(...metrics)
    for (const removed of this.#removed) removed.add(...metrics)
  }

  /**
   * Reads metrics that are not withheld. Repeats a full read that has found some which were withheld meanwhile: fewer than
   * `limit` mean that there are no more.
   *
   * @param read reads at most `limit` metrics, except the given ones
   * @param except further metrics to leave out
   */
  async without(
    read: (except: DueWanted['except']) => Promise<readonly Metric[]>,
    limit: number,
    except?: DueWanted['except'],
  ): Promise<readonly Metric[]> {
    for (;;) {
      const [found, kept] = await this.during(async isWithheld => {
        const all = await read(this.size === 0 ? except : joined(this.#metrics, except))
        return [all, all.filter(metric => !isWithheld(metric))] as const
      })
      if (kept.length === found.length || found.length < limit) return kept
    }
  }

  /** Runs a read. @param read is given whether a metric it found is withheld from it */
  async during<T>(read: (isWithheld: (metric: Metric) => boolean) => Promise<T>): Promise<T> {
    const removed = new MetricSet()
    this.#removed.add(removed)
    try {
      const hasAny = (metrics: MetricSet, metric: Metric) => metrics.size > 0 && metrics.has(metric)
      return await read(metric => hasAny(this.#metrics, metric) || hasAny(removed, metric))
    } finally {
      this.#removed.delete(removed)
    }
  }
}

/** Two sets as one. */
function joined(one: MetricSet, other: DueWanted['except']): DueWanted['except'] {
  return { idsOf: hour => new Set([...(one.idsOf(hour) ?? []), ...(other?.idsOf(hour) ?? [])]) }
}
