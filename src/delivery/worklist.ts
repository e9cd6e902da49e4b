import { type Batch, batchesOf, isBatch } from '../model/batch.ts'
import type { Hour } from '../model/hour.ts'
import { batchMetricsMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import { MetricSet } from '../model/metric-set.ts'
import { fresh, type Piece } from './isolate/pieces.ts'

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
 * The work left in a flush: pieces of batches that were split, then what is due in the outbox, read a round of pushes at a
 * time. Each metric is handed out once, and comes back only as a piece.
 */
export class Worklist {
  readonly #deps: WorklistDeps
  readonly #first: Piece[] = []
  /** Pieces of the newest hour that go after its other metrics, and before older hours. */
  readonly #beforeOlder: Piece[] = []
  /** Pieces that go after everything else. */
  readonly #last: Piece[] = []
  /** The piece of which it is looked up whether it is still due. */
  readonly #checked: Piece[] = []
  /** Metrics of the last read that are in no piece yet, in the order of delivery. */
  #unsent: readonly Metric[] = []
  /** Metrics that were handed out, or are in a piece: not to be read again. */
  readonly #taken = new ExcludedMetrics()

  constructor(deps: WorklistDeps) {
    this.#deps = deps
  }

  /**
   * Takes the next piece to be sent; `undefined` when there is none. Metrics that are not due any more are left out.
   *
   * @param isLastWanted whether it may be one that goes after everything else
   */
  async take(isLastWanted = true): Promise<Piece | undefined> {
    for (;;) {
      const piece = this.#first.shift() ?? (await this.#next()) ?? (isLastWanted ? this.#last.shift() : undefined)
      if (!piece) return undefined
      this.#checked.push(piece)
      const still = new MetricSet(await this.#deps.stillDue(piece.batch))
      this.leaveOut(metric => !still.has(metric), [this.#checked])
      const [checked] = this.#checked.splice(0)
      const [batch, ...tooMany] = batchesOf(checked?.batch ?? [], this.#deps.batchSizeMax())
      this.putBack(tooMany.map(rest => ({ ...piece, batch: rest })))
      if (batch) return { ...piece, batch }
    }
  }

  /** The next piece of what is due; a full batch, if so many are due. */
  async #next(): Promise<Piece | undefined> {
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

  /** Puts pieces before everything else. */
  putFirst(pieces: readonly Piece[]): void {
    this.#take(pieces)
    this.#first.unshift(...pieces)
  }

  /** Puts pieces of the newest hour between its other metrics and older hours. */
  putBeforeOlder(pieces: readonly Piece[]): void {
    this.#take(pieces)
    this.#beforeOlder.push(...pieces)
  }

  /** Puts pieces after everything else, the latest before the others. */
  putLast(pieces: readonly Piece[]): void {
    this.#take(pieces)
    this.#last.unshift(...pieces.map(piece => ({ ...piece, isLast: true as const })))
  }

  /** Puts pieces back that were taken and not sent. */
  putBack(pieces: readonly Piece[]): void {
    this.putFirst(pieces.filter(({ isLast }) => !isLast))
    this.putLast(pieces.filter(({ isLast }) => isLast))
  }

  #take(pieces: readonly Piece[]): void {
    if (pieces.length === 0) return
    for (const { batch } of pieces) this.#taken.add(batch)
    this.#unsent = this.#unsent.filter(metric => !this.#taken.has(metric))
  }

  /** Forgets metrics that were handed out: they are recorded, or may be read again. */
  release(metrics: readonly Metric[]): void {
    this.#taken.delete(metrics)
  }

  /** Removes metrics: they stay due, and are not handed out by this flush. @param from default: from everything */
  leaveOut(isLeftOut: (metric: Metric) => boolean, from?: readonly Piece[][]): void {
    for (const pieces of from ?? [this.#first, this.#beforeOlder, this.#last, this.#checked]) {
      this.release(pieces.flatMap(({ batch }) => batch.filter(isLeftOut)))
      const kept = pieces.flatMap(piece => {
        const batch = piece.batch.filter(metric => !isLeftOut(metric))
        return isBatch(batch) ? [{ ...piece, batch }] : []
      })
      pieces.splice(0, pieces.length, ...kept)
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
    const pieces = [...this.#first, ...this.#beforeOlder, ...this.#last]
    const known = [...pieces.flatMap(({ batch }) => batch), ...this.#unsent]
    const inKnown = new MetricSet(known)
    const chosen = choose([...known, ...read.filter(metric => !inKnown.has(metric))])
    const alone = chosen.map((metric): Piece => {
      const piece = pieces.find(({ batch }) => batch.includes(metric))
      return { ...(piece ?? fresh([metric])), batch: [metric] }
    })
    const forward = new MetricSet(chosen)
    this.leaveOut(metric => forward.has(metric))
    this.putFirst(alone)
    return alone.length
  }
}
