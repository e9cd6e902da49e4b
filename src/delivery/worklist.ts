import { type Batch, batchesOf, isBatch } from '../model/batch.ts'
import type { Hour } from '../model/hour.ts'
import { batchMetricsMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import { MetricSet } from '../model/metric-set.ts'
import { fresh, type Part } from './isolate/parts.ts'

/** Dependencies of `Worklist`. */
export interface WorklistDeps {
  /** Concurrent pushes, at most. */
  readonly inFlight: number
  /** Number of metrics that the service takes at once, as far as known. */
  batchSizeMax(): number
  /** Smallest number of metrics worth a push. Default: 1. */
  batchMetricsMin?(): number
  /** Hours from this one on go first. */
  readonly newestFirstFrom: Hour
  /** The current hour: it is not mixed with older ones in a batch, which a service may fail on alone. */
  readonly current: Hour
  /** Reads due metrics in the order of delivery. */
  due(limit: number): Promise<readonly Metric[]>
  /** The due metrics that may be sent with others. */
  free(due: readonly Metric[]): readonly Metric[]
  /** The metrics that are still due: a person may have dropped one, or a correction may be held. */
  stillDue(metrics: readonly Metric[]): Promise<readonly Metric[]>
}

/**
 * Due metrics that are wanted, at least `countMin` if there are so many: reads on while unwanted ones stand before them.
 *
 * @param due reads due metrics in the order of delivery
 * @param pick picks the wanted ones, as soon as they were read
 * @param limit of the first read
 */
export async function dueWanted(
  due: (limit: number) => Promise<readonly Metric[]>,
  pick: (read: readonly Metric[]) => readonly Metric[],
  countMin: number,
  limit: number,
): Promise<readonly Metric[]> {
  for (let reach = limit; ; reach *= 2) {
    const read = await due(reach)
    const wanted = pick(read)
    if (wanted.length >= countMin || read.length < reach) return wanted
  }
}

/** Metrics that are due in the outbox and must not be read as such: handed out, or their verdict is not recorded yet. */
export class ExcludedMetrics {
  readonly #metrics = new MetricSet()
  /** For each read under way, the metrics removed since it began: it may have found them due. */
  readonly #removedSince = new Set<MetricSet>()

  get size(): number {
    return this.#metrics.size
  }

  has(metric: Metric): boolean {
    return this.#metrics.has(metric)
  }

  add(metrics: readonly Metric[]): void {
    this.#metrics.add(...metrics)
  }

  delete(metrics: readonly Metric[]): void {
    this.#metrics.delete(...metrics)
    for (const removed of this.#removedSince) removed.add(...metrics)
  }

  /** Reads metrics without the excluded ones. @param read is given how many there are */
  async without(read: (excluded: number) => Promise<readonly Metric[]>): Promise<readonly Metric[]> {
    const removed = new MetricSet()
    this.#removedSince.add(removed)
    try {
      return (await read(this.size)).filter(metric => !this.has(metric) && !removed.has(metric))
    } finally {
      this.#removedSince.delete(removed)
    }
  }
}

/**
 * The work left in a flush: parts of batches that were split, then what is due in the outbox, read a round of pushes at a
 * time. Each metric is handed out once, and comes back only as a part.
 */
export class Worklist {
  readonly #deps: WorklistDeps
  readonly #first: Part[] = []
  /** Parts of the newest hour that go after its other metrics, and before older hours. */
  readonly #beforeOlder: Part[] = []
  /** Parts that go after everything else. */
  readonly #last: Part[] = []
  /** The part of which it is looked up whether it is still due. */
  readonly #checked: Part[] = []
  /** Metrics of the last read that are in no part yet, in the order of delivery. */
  #unsent: readonly Metric[] = []
  /** Metrics that were handed out, or are in a part: not to be read again. */
  readonly #taken = new ExcludedMetrics()

  constructor(deps: WorklistDeps) {
    this.#deps = deps
  }

  /**
   * Takes the next part to be sent; `undefined` when there is none. Metrics that are not due any more are left out.
   *
   * @param isLastWanted whether it may be one that goes after everything else
   */
  async take(isLastWanted = true): Promise<Part | undefined> {
    for (;;) {
      const part = this.#first.shift() ?? (await this.#next()) ?? (isLastWanted ? this.#last.shift() : undefined)
      if (!part) return undefined
      this.#checked.push(part)
      const still = new MetricSet(await this.#deps.stillDue(part.batch))
      this.leaveOut(metric => !still.has(metric), [this.#checked])
      const [checked] = this.#checked.splice(0)
      const [batch, ...tooMany] = batchesOf(checked?.batch ?? [], this.#deps.batchSizeMax())
      this.putBack(tooMany.map(rest => ({ ...part, batch: rest })))
      if (batch) return { ...part, batch }
    }
  }

  /** The next part of what is due; a full batch, if so many are due. */
  async #next(): Promise<Part | undefined> {
    const { batchSizeMax, batchMetricsMin = () => 1, newestFirstFrom } = this.#deps
    if (this.#unsent.length < batchSizeMax()) await this.#read()
    const isNewest = this.#unsent[0] !== undefined && this.#unsent[0].hour >= newestFirstFrom
    const before = isNewest ? undefined : this.#beforeOlder.shift()
    if (before || this.#unsent.length < batchMetricsMin()) return before
    const batch = this.#cut(batchSizeMax())
    return batch && fresh(batch)
  }

  #cut(sizeMax: number): Batch | undefined {
    const isCurrent = ({ hour }: Metric) => hour >= this.#deps.current
    const some = this.#unsent.slice(0, sizeMax)
    const other = some.findIndex(metric => some[0] && isCurrent(metric) !== isCurrent(some[0]))
    const batch = other < 0 ? some : some.slice(0, other)
    this.#unsent = this.#unsent.slice(batch.length)
    this.#taken.add(batch)
    return isBatch(batch) ? batch : undefined
  }

  /** Reads the next round of pushes, and the rest of the last one again: others may go before it now. */
  async #read(): Promise<void> {
    const { due, free, inFlight } = this.#deps
    const round = inFlight * batchMetricsMax
    const read = (limit: number) => this.#taken.without(excluded => due(limit + excluded))
    this.#unsent = (await dueWanted(read, free, round, round)).slice(0, round)
  }

  /** Puts parts before everything else. */
  putFirst(parts: readonly Part[]): void {
    this.#take(parts)
    this.#first.unshift(...parts)
  }

  /** Puts parts of the newest hour between its other metrics and older hours. */
  putBeforeOlder(parts: readonly Part[]): void {
    this.#take(parts)
    this.#beforeOlder.push(...parts)
  }

  /** Puts parts after everything else, the latest before the others. */
  putLast(parts: readonly Part[]): void {
    this.#take(parts)
    this.#last.unshift(...parts.map(part => ({ ...part, isLast: true as const })))
  }

  /** Puts parts back that were taken and not sent. */
  putBack(parts: readonly Part[]): void {
    this.putFirst(parts.filter(({ isLast }) => !isLast))
    this.putLast(parts.filter(({ isLast }) => isLast))
  }

  #take(parts: readonly Part[]): void {
    if (parts.length === 0) return
    for (const { batch } of parts) this.#taken.add(batch)
    this.#unsent = this.#unsent.filter(metric => !this.#taken.has(metric))
  }

  /** Forgets metrics that were handed out: they are recorded, or may be read again. */
  release(metrics: readonly Metric[]): void {
    this.#taken.delete(metrics)
  }

  /** Removes metrics: they stay due, and are not handed out by this flush. @param from default: from everything */
  leaveOut(isLeftOut: (metric: Metric) => boolean, from?: readonly Part[][]): void {
    for (const parts of from ?? [this.#first, this.#beforeOlder, this.#last, this.#checked]) {
      this.release(parts.flatMap(({ batch }) => batch.filter(isLeftOut)))
      const kept = parts.flatMap(part => {
        const batch = part.batch.filter(metric => !isLeftOut(metric))
        return isBatch(batch) ? [{ ...part, batch }] : []
      })
      parts.splice(0, parts.length, ...kept)
    }
    if (!from) this.#unsent = this.#unsent.filter(metric => !isLeftOut(metric))
  }

  /**
   * Puts metrics first that could be sent next, each alone; how often each was sent is kept.
   *
   * @param others reads further due metrics to choose from
   * @param choose chooses among all of them
   * @returns how many
   */
  async bringForward(
    others: () => Promise<readonly Metric[]>,
    choose: (upcoming: readonly Metric[]) => readonly Metric[],
  ): Promise<number> {
    const read = this.#deps.free(await this.#taken.without(others))
    const parts = [...this.#first, ...this.#beforeOlder, ...this.#last]
    const known = [...parts.flatMap(({ batch }) => batch), ...this.#unsent]
    const inKnown = new MetricSet(known)
    const chosen = choose([...known, ...read.filter(metric => !inKnown.has(metric))])
    const alone = chosen.map((metric): Part => {
      const part = parts.find(({ batch }) => batch.includes(metric))
      return { ...(part ?? fresh([metric])), batch: [metric] }
    })
    const forward = new MetricSet(chosen)
    this.leaveOut(metric => forward.has(metric))
    this.putFirst(alone)
    return alone.length
  }
}
