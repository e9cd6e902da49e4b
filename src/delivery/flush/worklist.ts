import { batchesOf, isBatch } from '../../model/batch.ts'
import { batchMetricsMax, duePageMax } from '../../model/limits.ts'
import type { Metric } from '../../model/metric.ts'
import { MetricSet } from '../../model/metric-set.ts'
import { fresh, type Part } from '../isolate/parts.ts'
import type { FlushDeps } from './deps.ts'

/** Dependencies of `Worklist`. */
export interface WorklistDeps extends Pick<FlushDeps, 'isFree' | 'fewest' | 'stillDue' | 'dueVersion'> {
  /** Reads due metrics in the order of delivery. */
  due(limit: number): readonly Metric[]
}

/**
 * The work left in a flush: parts of batches that were split, then what is due in the outbox. Each metric is handed out
 * once, and comes back only as a part. Lanes share one page, so reading and taking are never parted by an `await`.
 */
export class Worklist {
  readonly #deps: WorklistDeps
  readonly #parts: Part[] = []
  /** Parts that go after everything else. */
  readonly #last: Part[] = []
  #page: readonly Metric[] = []
  /** The `dueVersion` at which everything here was due; `undefined` when not known. */
  #version: string | undefined
  /** Handed out and not recorded, so still due in the outbox: not to be read again. */
  readonly #taken = new MetricSet()

  constructor(deps: WorklistDeps) {
    this.#deps = deps
  }

  /**
   * The next part to be sent; `undefined` when there is nothing.
   *
   * @param mayBeLast whether it may be one that goes after everything else
   */
  next(mayBeLast = true): Part | undefined {
    this.#leaveOutWithdrawn()
    const part = this.#parts.shift()
    if (part) return part
    if (!this.#isPageWorthIt()) return mayBeLast ? this.#last.shift() : undefined
    const batch = this.#page.slice(0, batchMetricsMax)
    this.#page = this.#page.slice(batchMetricsMax)
    for (const metric of batch) this.#taken.add(metric)
    return isBatch(batch) ? fresh(batch) : undefined
  }

  /** Whether `next` has a part. */
  hasMore(): boolean {
    return this.#parts.length > 0 || this.#last.length > 0 || this.#isPageWorthIt()
  }

  #isPageWorthIt(): boolean {
    const fewest = this.#deps.fewest?.() ?? 1
    this.#fill(fewest)
    return this.#page.length >= fewest
  }

  /** Puts parts before everything else. */
  putFirst(parts: readonly Part[]): void {
    this.#take(parts)
    this.#parts.unshift(...parts)
  }

  /** Puts parts after everything else, the latest before the others. */
  putLast(parts: readonly Part[]): void {
    this.#take(parts)
    this.#last.unshift(...parts.map(part => ({ ...part, isLast: true as const })))
  }

  #take(parts: readonly Part[]): void {
    if (parts.length === 0) return
    for (const { batch } of parts) for (const metric of batch) this.#taken.add(metric)
    // They were on their way when the others were looked up.
    this.#version = undefined
    this.#page = this.#page.filter(metric => !this.#taken.has(metric))
  }

  /** Forgets metrics that were handed out: they are recorded, or may be read again. */
  release(metrics: Iterable<Metric>): void {
    for (const metric of metrics) this.#taken.delete(metric)
  }

  /**
   * Metrics that could be sent next, at least `count` if there are so many.
   *
   * @param others further due metrics; those that are handed out are left away
   */
  upcoming(count: number, others: readonly Metric[]): readonly Metric[] {
    this.#fill(count)
    const paged = new MetricSet()
    for (const metric of this.#page) paged.add(metric)
    const free = others.filter(metric => !this.#taken.has(metric) && !paged.has(metric))
    return [...[...this.#parts, ...this.#last].flatMap(({ batch }) => batch), ...this.#page, ...free]
  }

  /** Puts metrics first, each alone; how often each was sent is kept. */
  bringForward(metrics: readonly Metric[]): void {
    const forward = new MetricSet()
    for (const metric of metrics) forward.add(metric)
    const alone = metrics.map(metric => {
      const part = [...this.#parts, ...this.#last].find(({ batch }) => batch.includes(metric))
      return { ...(part ?? fresh([metric])), batch: [metric] as const }
    })
    this.leaveOut(metric => forward.has(metric))
    this.putFirst(alone)
  }

  /** Removes metrics: they stay due, and are not handed out by this flush. */
  leaveOut(isLeftOut: (metric: Metric) => boolean): void {
    for (const parts of [this.#parts, this.#last]) {
      // A later read of what is due may find them again.
      this.release(parts.flatMap(({ batch }) => batch.filter(isLeftOut)))
      const kept = parts.flatMap(part =>
        batchesOf(
          part.batch.filter(metric => !isLeftOut(metric)),
          batchMetricsMax,
        ).map(batch => ({ ...part, batch })),
      )
      parts.splice(0, parts.length, ...kept)
    }
    this.#page = this.#page.filter(metric => !isLeftOut(metric))
  }

  /** Since it was read, a metric may have been dropped by a person, or its corrected value held. */
  #leaveOutWithdrawn(): void {
    const version = this.#deps.dueVersion()
    if (version === this.#version) return
    this.#version = version
    const here = [...[...this.#parts, ...this.#last].flatMap(({ batch }) => batch), ...this.#page]
    const still = new Set(here.length === 0 ? [] : this.#deps.stillDue(here))
    if (still.size < here.length) this.leaveOut(metric => !still.has(metric))
  }

  #fill(count: number): void {
    if (this.#page.length >= count) return
    const isWanted = (metric: Metric) => !this.#taken.has(metric) && this.#deps.isFree(metric)
    const { due } = this.#deps
    this.#page = dueWanted(due, isWanted, count, duePageMax + this.#taken.size)
  }
}

/**
 * Due metrics that are wanted, at least `fewest` if there are so many: reads on while unwanted ones stand before them.
 */
export function dueWanted(
  due: (limit: number) => readonly Metric[],
  isWanted: (metric: Metric) => boolean,
  fewest: number,
  limit: number,
): readonly Metric[] {
  for (let reach = limit; ; reach *= 2) {
    const read = due(reach)
    const wanted = read.filter(isWanted)
    if (wanted.length >= fewest || read.length < reach) return wanted
  }
}
