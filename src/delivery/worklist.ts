import { type Batch, batchesOf, isBatch } from '../model/batch.ts'
import { batchMetricsMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import { MetricSet } from '../model/metric-set.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import { fresh, type Piece } from './isolate/pieces.ts'
import { dueWanted, ExcludedMetrics, type FlushPlan } from './plan.ts'
import type { Sender } from './push.ts'

/** Sizes of the pushes of a flush. */
export interface PushLimits {
  readonly inFlight: number
  /** Smallest number of metrics worth a push while more are being collected. Default: 1. */
  readonly batchMetricsMin?: () => number
}

/**
 * The work left in a flush: pieces of batches that were split, then what is due in the outbox, read a round of pushes at a
 * time. Each metric is handed out once, and comes back only as a piece.
 */
export class Worklist {
  readonly #plan: Pick<FlushPlan, 'due' | 'free' | 'newestFirstFrom' | 'current'>
  readonly #sender: Pick<Sender, 'batchSizeMax'>
  readonly #outbox: Pick<DeliveryStore, 'stillDue'>
  readonly #limits: PushLimits
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

  constructor(
    plan: Pick<FlushPlan, 'due' | 'free' | 'newestFirstFrom' | 'current'>,
    sender: Pick<Sender, 'batchSizeMax'>,
    outbox: Pick<DeliveryStore, 'stillDue'>,
    limits: PushLimits,
  ) {
    this.#plan = plan
    this.#sender = sender
    this.#outbox = outbox
    this.#limits = limits
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
      const still = new MetricSet(await this.#outbox.stillDue(piece.batch))
      this.leaveOut(metric => !still.has(metric), [this.#checked])
      const [checked] = this.#checked.splice(0)
      const [batch, ...tooMany] = batchesOf(checked?.batch ?? [], this.#sender.batchSizeMax)
      this.putBack(tooMany.map(rest => ({ ...piece, batch: rest })))
      if (batch) return { ...piece, batch }
    }
  }

  /** The next piece of what is due; a full batch, if so many are due. */
  async #next(): Promise<Piece | undefined> {
    const { batchMetricsMin = () => 1 } = this.#limits
    if (this.#unsent.length < this.#sender.batchSizeMax) await this.#read()
    const isNewest = this.#unsent[0] !== undefined && this.#unsent[0].hour >= this.#plan.newestFirstFrom
    const before = isNewest ? undefined : this.#beforeOlder.shift()
    if (before || this.#unsent.length < batchMetricsMin()) return before
    const batch = this.#cut(this.#sender.batchSizeMax)
    return batch && fresh(batch)
  }

  #cut(sizeMax: number): Batch | undefined {
    const isCurrent = ({ hour }: Metric) => hour >= this.#plan.current
    const candidates = this.#unsent.slice(0, sizeMax)
    const [first] = candidates
    const end = candidates.findIndex(metric => first && isCurrent(metric) !== isCurrent(first))
    const batch = end < 0 ? candidates : candidates.slice(0, end)
    this.#unsent = this.#unsent.slice(batch.length)
    this.#taken.add(batch)
    return isBatch(batch) ? batch : undefined
  }

  /** Reads the next round of pushes, and the rest of the last one again: others may go before it now. */
  async #read(): Promise<void> {
    const round = this.#limits.inFlight * batchMetricsMax
    const read = (limit: number) => this.#taken.without(excluded => this.#plan.due(limit + excluded))
    this.#unsent = (await dueWanted(read, some => this.#plan.free(some), round, round)).slice(0, round)
  }

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
      const remainingPieces = pieces.flatMap(piece => {
        const batch = piece.batch.filter(metric => !isLeftOut(metric))
        return isBatch(batch) ? [{ ...piece, batch }] : []
      })
      pieces.splice(0, pieces.length, ...remainingPieces)
    }
    if (!from) this.#unsent = this.#unsent.filter(metric => !isLeftOut(metric))
  }

  /**
   * Puts metrics first that could be sent next, each alone; how often each was sent is kept.
   *
   * @param readOthers reads further due metrics to choose from
   * @param choose chooses among all of them
   * @returns how many
   */
  async bringForward(
    readOthers: () => Promise<readonly Metric[]>,
    choose: (upcoming: readonly Metric[]) => readonly Metric[],
  ): Promise<number> {
    const dueMetrics = this.#plan.free(await this.#taken.without(readOthers))
    const pieces = [...this.#first, ...this.#beforeOlder, ...this.#last]
    const known = [...pieces.flatMap(({ batch }) => batch), ...this.#unsent]
    const inKnown = new MetricSet(known)
    const selection = choose([...known, ...dueMetrics.filter(metric => !inKnown.has(metric))])
    const singles = selection.map((metric): Piece => {
      const piece = pieces.find(({ batch }) => batch.includes(metric))
      return { ...(piece ?? fresh([metric])), batch: [metric] }
    })
    const forward = new MetricSet(selection)
    this.leaveOut(metric => forward.has(metric))
    this.putFirst(singles)
    return singles.length
  }
}
