import { Sequence } from '../../edge/sequence.ts'
import { batchesOf, isBatch } from '../../model/batch.ts'
import { batchMetricsMax, duePageMax } from '../../model/limits.ts'
import type { Metric } from '../../model/metric.ts'
import type { MetricList } from '../../model/metric-list.ts'
import { MetricSet } from '../../model/metric-set.ts'
import type { DueWanted } from '../../outbox/contract/selections.ts'
import { fresh, type Part } from '../isolate/parts.ts'
import { WithheldMetrics } from '../record/withheld-metrics.ts'
import type { FlushDeps } from './deps.ts'
import { DuePage } from './due-page.ts'
import { dueWanted } from './due-wanted.ts'

/** Dependencies of `Worklist`. */
export interface WorklistDeps
  extends Pick<FlushDeps, 'free' | 'batchMetricsMin' | 'batchSizeMax' | 'newestFirstFrom' | 'current'> {
  readonly outbox: Pick<FlushDeps['outbox'], 'stillDue'>
  /** Reads due metrics in the order of delivery, except some. */
  due(limit: number, except: DueWanted['except']): Promise<MetricList>
}

/**
 * The work left in a flush: parts of batches that were split, then what is due in the outbox. Each metric is handed out
 * once, and comes back only as a part. While the outbox is read, parts may come back, and metrics may be left out or
 * released: what was read is held against all of that before it is used.
 */
export class Worklist {
  readonly #deps: WorklistDeps
  /** Each read builds on the page and the stamp that the one before left. */
  readonly #reads = new Sequence()
  readonly #parts: Part[] = []
  /** Parts of the newest hour that go after its other metrics, and before older hours. */
  readonly #beforeOlder: Part[] = []
  /** Parts that go after everything else. */
  readonly #last: Part[] = []
  /** Read again when anything else becomes due. */
  #page = new DuePage()
  /** Stamp of the last look at the outbox. */
  #stamp: string | undefined
  /** Whether the last look found nothing new, so that a page will mostly last. */
  #isQuiet = true
  /** Whether all parts were due at the last look. */
  #areLookedUp = false
  /** Number of times that parts came back. */
  #returns = 0
  /** Handed out and not recorded, so still due in the outbox: not to be read again. */
  readonly #taken = new WithheldMetrics()

  constructor(deps: WorklistDeps) {
    this.#deps = deps
  }

  /**
   * The next parts to be sent, at most `count`; none when there are none. Each metric was still due in the turn of the call.
   *
   * @param lastMax how many of them may go after everything else
   */
  take(count = 1, lastMax = count): Promise<readonly Part[]> {
    return this.#reads.run(async () => {
      do {
        await this.#look()
        if (this.#parts.length < count) await this.#fill(this.#batchMetricsMin, count - this.#parts.length)
        // Parts that came back meanwhile were not looked up.
      } while (!this.#areLookedUp)
      return this.#cut(count, lastMax)
    })
  }

  /** Prepares whole batches, so that at least `count` of them are ready when a push is answered. */
  readAhead(count: number): Promise<void> {
    return this.#reads.run(async () => {
      let isRead = false
      while (this.#parts.length < count) {
        // Not before what was read is used up: that would be left out of the next read, metric by metric.
        if (!isRead && this.#page.length < batchMetricsMax) {
          await this.#fill(batchMetricsMax, count - this.#parts.length)
          isRead = true
        }
        const part = this.#next(this.#deps.batchSizeMax())
        if (!part) return
        this.#parts.push(part)
      }
    })
  }

  #cut(count: number, lastMax: number): readonly Part[] {
    this.#divide()
    const parts = this.#parts.splice(0, count)
    while (parts.length < count) {
      const part = this.#nextBeforeOlder() ?? this.#next(this.#batchMetricsMin)
      if (!part) break
      parts.push(part)
    }
    // All that is due goes before them: the next page, too.
    return parts.length > 0 ? parts : this.#last.splice(0, Math.min(count, lastMax))
  }

  /** The next part of what was read; `undefined` when that has fewer metrics than wanted. */
  #next(metricsMin: number): Part | undefined {
    if (this.#page.length < metricsMin) return undefined
    const batch = this.#page.take(this.#deps.batchSizeMax(), this.#deps.current)
    if (!isBatch(batch)) return undefined
    this.#taken.add(batch)
    return fresh(batch)
  }

  /** Divides parts that were cut before it was known that they are too large. */
  #divide(): void {
    const sizeMax = this.#deps.batchSizeMax()
    for (const parts of [this.#parts, this.#last]) {
      if (parts.every(({ batch }) => batch.length <= sizeMax)) continue
      const divided = parts.flatMap(part => batchesOf(part.batch, sizeMax).map(batch => ({ ...part, batch })))
      parts.splice(0, parts.length, ...divided)
    }
  }

  #nextBeforeOlder(): Part | undefined {
    if (this.#page.isNewest(this.#deps.newestFirstFrom)) return undefined
    return this.#beforeOlder.shift()
  }

  get #batchMetricsMin(): number {
    return this.#deps.batchMetricsMin?.() ?? 1
  }

  /** Puts parts of the newest hour between its other metrics and older hours. */
  putBeforeOlder(parts: readonly Part[]): void {
    this.#withhold(parts)
    this.#beforeOlder.push(...parts)
  }

  /** Puts parts before everything else. */
  putFirst(parts: readonly Part[]): void {
    this.#withhold(parts)
    this.#parts.unshift(...parts)
  }

  /** Puts parts after everything else, the latest before the others. */
  putLast(parts: readonly Part[]): void {
    this.#withhold(parts)
    this.#last.unshift(...parts.map(part => ({ ...part, isLast: true as const })))
  }

  /** Puts parts back that were taken and not sent. */
  putBack(parts: readonly Part[]): void {
    this.putFirst(parts.filter(({ isLast }) => !isLast))
    this.putLast(parts.filter(({ isLast }) => isLast))
  }

  #withhold(parts: readonly Part[]): void {
    if (parts.length === 0) return
    for (const { batch } of parts) this.#taken.addAgain(batch)
    // They were on their way when the others were looked up.
    this.#areLookedUp = false
    this.#returns += 1
    const back = new MetricSet(...parts.map(({ batch }) => batch))
    this.#page = new DuePage(this.#page.metrics.filter(metric => !back.has(metric)))
  }

  /** Forgets metrics that were handed out: they are recorded, or may be read again. */
  release(metrics: MetricList): void {
    this.#taken.delete(metrics)
  }

  /**
   * Puts some of the metrics that could be sent next first, each alone; how often each was sent is kept.
   *
   * @param count metrics to choose from, at least, if there are so many
   * @param others reads further due metrics to choose from
   * @param choose chooses among all of them
   * @returns how many
   */
  bringForward(
    count: number,
    others: () => Promise<MetricList>,
    choose: (upcoming: readonly Metric[]) => readonly Metric[],
  ): Promise<number> {
    return this.#reads.run(async () => {
      await this.#fill(count, Math.ceil(count / batchMetricsMax))
      return await this.#taken.during(async taken => {
        const read = await others()
        const chosen = choose(this.#upcoming(this.#deps.free(read.filter(metric => !taken.has(metric)))))
        this.#putForward(chosen)
        return chosen.length
      })
    })
  }

  #upcoming(others: MetricList): readonly Metric[] {
    const paged = new MetricSet(this.#page.metrics)
    const free = others.filter(metric => !paged.has(metric))
    return [...this.#metricsOfParts, ...this.#page.metrics, ...free]
  }

  #putForward(metrics: readonly Metric[]): void {
    const forward = new MetricSet(metrics)
    const alone = metrics.map(metric => {
      const part = this.#lists.flat().find(({ batch }) => batch.includes(metric))
      return { ...(part ?? fresh([metric])), batch: [metric] as const }
    })
    this.leaveOut(metric => forward.has(metric))
    this.putFirst(alone)
  }

  /** Removes metrics: they stay due, and are not handed out by this flush. */
  leaveOut(isLeftOut: (metric: Metric) => boolean): void {
    for (const parts of this.#lists) {
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
    this.#page = new DuePage(this.#page.metrics.filter(metric => !isLeftOut(metric)))
  }

  /**
   * Leaves out parts whose metrics were dropped by a person since they were read, or whose corrected values are held.
   * Forgets the page when that may be so of its metrics, or when others may go before them.
   */
  async #look(): Promise<void> {
    const { outbox } = this.#deps
    // Mostly nothing has changed: then the metrics of all parts need not be listed.
    this.#isQuiet = this.#areLookedUp && (await outbox.stillDue([], this.#stamp)).stamp === this.#stamp
    if (this.#isQuiet) return
    const [returns, parted] = [this.#returns, this.#metricsOfParts]
    const { metrics, stamp } = await outbox.stillDue(parted)
    if (metrics.length < parted.length) {
      const still = new Set(metrics)
      const withdrawn = new Set(parted.filter(metric => !still.has(metric)))
      this.leaveOut(metric => withdrawn.has(metric))
    }
    if (stamp !== this.#stamp) this.#page = new DuePage()
    this.#isQuiet = this.#stamp === undefined || stamp === this.#stamp
    this.#stamp = stamp
    this.#areLookedUp = this.#returns === returns
  }

  get #lists(): readonly Part[][] {
    return [this.#parts, this.#beforeOlder, this.#last]
  }

  get #metricsOfParts(): readonly Metric[] {
    return this.#lists.flatMap(parts => parts.flatMap(({ batch }) => [...batch]))
  }

  /** Reads on until the page has so many metrics, if there are so many. @param batches that are wanted now */
  async #fill(count: number, batches: number): Promise<void> {
    if (this.#page.length >= count) return
    const wanted = batches * batchMetricsMax
    const limit = this.#isQuiet ? Math.max(wanted, duePageMax) : wanted
    const { due, free } = this.#deps
    await this.#taken.during(async taken => {
      const paged = new Set(this.#page.metrics)
      const except = paged.size === 0 ? this.#taken.lists : [...this.#taken.lists, this.#page.metrics]
      const keep = (read: MetricList) => {
        const untaken = taken.isChanged() ? read.filter(metric => !taken.has(metric)) : read
        // Metrics may have been left out of the page meanwhile.
        const rest = paged.size === 0 ? [] : this.#page.metrics.filter(metric => paged.has(metric))
        this.#page = new DuePage(rest.length === 0 ? free(untaken) : [...rest, ...free(untaken)])
        return this.#page
      }
      await dueWanted(reach => due(reach, except), keep, count, limit)
    })
  }
}
