import { type Batch, batchesOf, halves, isBatch } from '../model/batch.ts'
import { attemptsMax, batchMetricsMax, duePageMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import { MetricSet } from './metric-set.ts'

/** Metrics that are pushed together, and what they have behind them in this flush. */
export interface Part {
  readonly batch: Batch
  /** How often each of them was sent. */
  readonly sent: number
  /** Tries of the next push. */
  readonly attemptsMax: number
  /** The other half of the pair it comes from. */
  readonly pairedWith?: Metric
  /** The service failed on it before: that it does again says nothing about the service. */
  readonly isTroubled?: true
}

/** A batch that was not sent yet. */
export function fresh(batch: Batch, attempts = attemptsMax): Part {
  return { batch, sent: 0, attemptsMax: attempts }
}

/** The two halves of some metrics of a part that was sent. */
export function halvesOf({ sent, attemptsMax }: Part, metrics: readonly Metric[]): Part[] {
  const [one, other] = metrics
  if (metrics.length !== 2 || !one || !other) return halves(metrics).map(batch => ({ batch, sent, attemptsMax }))
  return [
    { batch: [one], pairedWith: other, sent, attemptsMax },
    { batch: [other], pairedWith: one, sent, attemptsMax },
  ]
}

/**
 * What a flush has still to send: parts of batches that were split, then what is due in the outbox. Each metric is
 * handed out once; what comes back does so as a part.
 */
export class Worklist {
  readonly #due: (limit: number) => readonly Metric[]
  readonly #parts: Part[] = []
  #page: readonly Metric[] = []
  readonly #fewest: () => number
  /** Handed out and not settled, so still due in the outbox: not to be read again. */
  readonly #taken = new MetricSet()

  /**
   * @param due reads due metrics in the order of delivery
   * @param aside due metrics that this flush leaves alone
   * @param fewest metrics that are worth a push: fewer stay due, more may come
   */
  constructor(due: (limit: number) => readonly Metric[], aside: readonly Metric[], fewest: () => number = () => 1) {
    this.#due = due
    this.#fewest = fewest
    for (const metric of aside) this.#taken.add(metric)
  }

  /** The next part to be sent; `undefined` when there is nothing. */
  next(): Part | undefined {
    const part = this.#parts.shift()
    if (part) return part
    if (!this.#isPageWorthIt()) return undefined
    const batch = this.#page.slice(0, batchMetricsMax)
    this.#page = this.#page.slice(batchMetricsMax)
    for (const metric of batch) this.#taken.add(metric)
    return isBatch(batch) ? fresh(batch) : undefined
  }

  /** Whether there is something to be sent. */
  hasMore(): boolean {
    return this.#parts.length > 0 || this.#isPageWorthIt()
  }

  #isPageWorthIt(): boolean {
    const fewest = this.#fewest()
    this.#fill(fewest)
    return this.#page.length >= fewest
  }

  /** Parts that are sent before anything else. */
  putFirst(parts: readonly Part[]): void {
    for (const { batch } of parts) for (const metric of batch) this.#taken.add(metric)
    this.#page = this.#page.filter(metric => !this.#taken.has(metric))
    this.#parts.unshift(...parts)
  }

  /** They are not due any more. */
  settled(metrics: Iterable<Metric>): void {
    for (const metric of metrics) this.#taken.delete(metric)
  }

  /**
   * What could be sent next, at least `count` of it where there is so much.
   *
   * @param others due metrics that may be named, too, unless they are handed out already
   */
  upcoming(count: number, others: readonly Metric[]): readonly Metric[] {
    this.#fill(count)
    const paged = new MetricSet()
    for (const metric of this.#page) paged.add(metric)
    const free = others.filter(metric => !this.#taken.has(metric) && !paged.has(metric))
    return [...this.#parts.flatMap(({ batch }) => batch), ...this.#page, ...free]
  }

  /** Metrics that are sent next, each alone; what they have behind them is kept. */
  bringForward(metrics: readonly Metric[]): void {
    const forward = new MetricSet()
    for (const metric of metrics) forward.add(metric)
    const alone = metrics.map(metric => {
      const part = this.#parts.find(({ batch }) => batch.includes(metric))
      return { ...(part ?? fresh([metric])), batch: [metric] as const }
    })
    this.leaveOut(metric => forward.has(metric))
    this.putFirst(alone)
  }

  /** Leaves metrics out: they stay due, and are not handed out by this flush. */
  leaveOut(isLeftOut: (metric: Metric) => boolean): void {
    const kept = this.#parts.flatMap(part =>
      batchesOf(
        part.batch.filter(metric => !isLeftOut(metric)),
        batchMetricsMax,
      ).map(batch => ({ ...part, batch })),
    )
    this.#parts.splice(0, this.#parts.length, ...kept)
    this.#page = this.#page.filter(metric => !isLeftOut(metric))
  }

  #fill(count: number): void {
    if (this.#page.length >= count) return
    this.#page = this.#due(duePageMax + this.#taken.size).filter(metric => !this.#taken.has(metric))
  }
}
