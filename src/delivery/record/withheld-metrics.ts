import type { Metric } from '../../model/metric.ts'
import type { MetricList } from '../../model/metric-list.ts'
import { MetricSet } from '../../model/metric-set.ts'
import type { DueWanted } from '../../outbox/contract/selections.ts'

/**
 * Metrics that are still due in the outbox and must not be read as such: handed out, or their verdict is not recorded
 * yet. One that is removed while a read is under way stays withheld from it, as the read may be older than the verdict.
 *
 * Kept as the lists in which they come and mostly go, since to look up each metric costs as much as to read it.
 */
export class WithheldMetrics {
  /** A metric may be in several. */
  readonly #lists = new Set<MetricList>()
  #size = 0
  /** Whether a metric may be in several lists. */
  #mayOverlap = false
  /** Number of changes. */
  #version = 0
  /** For each read under way, the lists removed since it began. */
  readonly #reads = new Set<MetricList[]>()

  /** Number of metrics; one that is in several lists counts as several. */
  get size(): number {
    return this.#size
  }

  /** The metrics, as they are at the time of each look. */
  get lists(): Iterable<MetricList> {
    return this.#lists
  }

  /** Adds metrics that are not among them. */
  add(metrics: MetricList): void {
    if (metrics.length === 0) return
    this.#lists.add(metrics)
    this.#size += metrics.length
    this.#version += 1
  }

  /** Adds metrics, some of which may be among them. */
  addAgain(metrics: MetricList): void {
    this.#mayOverlap ||= this.#lists.size > 0
    this.add(metrics)
  }

  /** Removes metrics; those that are not among them are ignored. */
  delete(metrics: MetricList): void {
    if (metrics.length === 0) return
    this.#version += 1
    for (const removed of this.#reads) removed.push(metrics)
    const isList = this.#drop(metrics)
    if (isList && !this.#mayOverlap) return
    const gone = new MetricSet(metrics)
    for (const list of [...this.#lists]) {
      const left = list.filter(metric => !gone.has(metric))
      if (left.length === list.length) continue
      this.#drop(list)
      this.add(left)
    }
    this.#mayOverlap &&= this.#lists.size > 1
  }

  #drop(list: MetricList): boolean {
    const isList = this.#lists.delete(list)
    if (isList) this.#size -= list.length
    return isList
  }

  /**
   * Reads metrics that are not withheld. Repeats a full read that has found some which were withheld meanwhile: fewer than
   * `limit` mean that there are no more.
   *
   * @param read reads at most `limit` metrics, except the given ones
   * @param except further metrics to leave out
   */
  async without(
    read: (except: DueWanted['except']) => Promise<MetricList>,
    limit: number,
    except?: DueWanted['except'],
  ): Promise<MetricList> {
    for (;;) {
      const [found, kept] = await this.during(async withheld => {
        const all = await read(this.size === 0 ? except : joined(this.#lists, except))
        return [all, withheld.isChanged() ? all.filter(metric => !withheld.has(metric)) : all] as const
      })
      if (kept.length === found.length || found.length < limit) return kept
    }
  }

  /** Runs a read. @param read is given what is withheld from it */
  async during<T>(read: (withheld: WithheldFromRead) => Promise<T>): Promise<T> {
    const removed: MetricList[] = []
    const before = this.#version
    let known: { readonly version: number; readonly metrics: MetricSet } | undefined
    const metrics = () => {
      const version = this.#version
      if (known?.version !== version) known = { version, metrics: new MetricSet(...this.#lists, ...removed) }
      return known.metrics
    }
    this.#reads.add(removed)
    try {
      return await read({ has: metric => metrics().has(metric), isChanged: () => this.#version !== before })
    } finally {
      this.#reads.delete(removed)
    }
  }
}

/** The metrics that are withheld from a read: now, or at any time since it began. */
export interface WithheldFromRead {
  has(metric: Metric): boolean
  /** Whether they are others than when the read began. If not, a read except them has found none of them. */
  isChanged(): boolean
}

/** All lists of two. */
function joined(one: Iterable<MetricList>, other: DueWanted['except'] = []): DueWanted['except'] {
  return {
    *[Symbol.iterator]() {
      yield* one
      yield* other
    },
  }
}
