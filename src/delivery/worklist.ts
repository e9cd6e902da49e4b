import { type Batch, batchesOf, halves, isBatch } from '../model/batch.ts'
import { attemptsMax, batchMetricsMax, duePageMax, troubledAttemptsMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import { MetricSet } from './metric-set.ts'
import type { FlushPorts } from './ports.ts'

/** Metrics that are pushed together, and what they have behind them in this flush. */
export interface Part {
  readonly batch: Batch
  /** How often each of them was sent. */
  readonly sent: number
  /** Tries of the next push. */
  readonly attemptsMax: number
  /** The other half of the pair it comes from. */
  readonly pairedWith?: Metric
  /** The service failed on it while it took others: it goes after everything else. */
  readonly isSuspicious?: true
  /** Out of quarantine, to be tried alone: that the service fails on it again says nothing about the service. */
  readonly isProbe?: true
  /** One of a protocol, sent to find out whether the service fails on the whole of it. */
  readonly isSample?: true
}

/** A batch that was not sent yet. */
export function fresh(batch: Batch, attempts = attemptsMax): Part {
  return { batch, sent: 0, attemptsMax: attempts }
}

/** Metrics above which thirds find a bad one with fewer pushes than halves. */
const thirdsMin = 4

/** The halves of a few metrics of a part that was sent, the thirds of more. */
export function halvesOf({ sent, attemptsMax }: Part, metrics: readonly Metric[]): Part[] {
  const [one, other] = metrics
  if (metrics.length > thirdsMin) {
    return batchesOf(metrics, Math.ceil(metrics.length / 3)).map(batch => ({ batch, sent, attemptsMax }))
  }
  if (metrics.length !== 2 || !one || !other) return halves(metrics).map(batch => ({ batch, sent, attemptsMax }))
  return [
    { batch: [one], pairedWith: other, sent, attemptsMax },
    { batch: [other], pairedWith: one, sent, attemptsMax },
  ]
}

/**
 * Parts of a batch that the service failed on: whole protocols as long as there are several, then metrics.
 *
 * @param ways how many parts there may be
 */
export function partsOf({ sent }: Part, metrics: readonly Metric[], ways: number): Part[] {
  const byProtocol = [...Map.groupBy(metrics, ({ protocolId }) => protocolId).values()]
  const units: readonly (readonly Metric[])[] = byProtocol.length > 1 ? byProtocol : metrics.map(metric => [metric])
  const size = Math.max(1, Math.ceil(units.length / ways))
  const count = Math.ceil(units.length / size)
  const parts: readonly (readonly Metric[])[] = Array.from({ length: count }, (_, at) =>
    units.slice(at * size, (at + 1) * size).flat(),
  )
  return parts.filter(isBatch).map(batch => ({ batch, sent, attemptsMax: troubledAttemptsMax }))
}

/** What a worklist is made from. */
export interface WorklistPorts extends Pick<FlushPorts, 'isFree' | 'fewest' | 'stillDue' | 'dueVersion'> {
  /** Reads due metrics in the order of delivery. */
  due(limit: number): readonly Metric[]
}

/**
 * What a flush has still to send: parts of batches that were split, then what is due in the outbox. Each metric is
 * handed out once; what comes back does so as a part.
 */
export class Worklist {
  readonly #ports: WorklistPorts
  readonly #parts: Part[] = []
  /** Parts that go after everything else. */
  readonly #last: Part[] = []
  #page: readonly Metric[] = []
  /** As of which all that is here was due; `undefined` when that is not known. */
  #version: string | undefined
  /** Handed out and not settled, so still due in the outbox: not to be read again. */
  readonly #taken = new MetricSet()

  constructor(ports: WorklistPorts) {
    this.#ports = ports
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

  /** Whether there is something to be sent. */
  hasMore(): boolean {
    return this.#parts.length > 0 || this.#last.length > 0 || this.#isPageWorthIt()
  }

  #isPageWorthIt(): boolean {
    const fewest = this.#ports.fewest?.() ?? 1
    this.#fill(fewest)
    return this.#page.length >= fewest
  }

  /** Parts that are sent before anything else. */
  putFirst(parts: readonly Part[]): void {
    this.#take(parts)
    this.#parts.unshift(...parts)
  }

  /** Parts that are sent after everything else, those that were put here last before the others. */
  putLast(parts: readonly Part[]): void {
    this.#take(parts)
    this.#last.unshift(...parts.map(part => ({ ...part, isSuspicious: true as const })))
  }

  #take(parts: readonly Part[]): void {
    if (parts.length === 0) return
    for (const { batch } of parts) for (const metric of batch) this.#taken.add(metric)
    // They were not here when the others were looked up.
    this.#version = undefined
    this.#page = this.#page.filter(metric => !this.#taken.has(metric))
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
    return [...[...this.#parts, ...this.#last].flatMap(({ batch }) => batch), ...this.#page, ...free]
  }

  /** Metrics that are sent next, each alone; what they have behind them is kept. */
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

  /** Leaves metrics out: they stay due, and are not handed out by this flush. */
  leaveOut(isLeftOut: (metric: Metric) => boolean): void {
    for (const parts of [this.#parts, this.#last]) {
      // A later look at what is due may find them again.
      this.settled(parts.flatMap(({ batch }) => batch.filter(isLeftOut)))
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

  /** A person may have dropped something, or a corrected value may be held, since it was read. */
  #leaveOutWithdrawn(): void {
    const version = this.#ports.dueVersion()
    if (version === this.#version) return
    this.#version = version
    const here = [...[...this.#parts, ...this.#last].flatMap(({ batch }) => batch), ...this.#page]
    const still = new Set(here.length === 0 ? [] : this.#ports.stillDue(here))
    if (still.size < here.length) this.leaveOut(metric => !still.has(metric))
  }

  #fill(count: number): void {
    if (this.#page.length >= count) return
    const isWanted = (metric: Metric) => !this.#taken.has(metric) && this.#ports.isFree(metric)
    const { due } = this.#ports
    this.#page = dueWanted(due, isWanted, count, duePageMax + this.#taken.size)
  }
}

/**
 * Due metrics that are wanted, at least some of them where there are so many: reads on while those that are not wanted
 * stand before.
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
