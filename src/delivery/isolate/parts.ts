import { type Batch, batchesOf, halves, isBatch } from '../../model/batch.ts'
import type { Metric } from '../../model/metric.ts'
import type { Verdict } from '../../model/verdict.ts'
import { attemptsMax, troubledAttemptsMax } from './limits.ts'

/** Metrics that are pushed together, and what they have behind them in this flush. */
export interface Part {
  readonly batch: Batch
  /** How often each of them was sent. */
  readonly sent: number
  /** Attempts of the next push. */
  readonly attemptsMax: number
  /** The other half of the pair it comes from. */
  readonly pairedWith?: Metric
  /** The service failed on it while it took others: it goes after everything else. */
  readonly isLast?: true
  /** Out of quarantine, tried alone: that the service fails on it again says nothing about the service. */
  readonly isProbe?: true
  /** One of a protocol, sent to find out whether the service fails on the whole of it. */
  readonly isSample?: true
  /** Its protocol was registered for it: if the service does not know it still, it is not registered again. */
  readonly isRegistered?: true
}

/** How often a batch is sent. */
export interface Attempts {
  /** At most. */
  readonly attemptsMax: number
  /** Attempts of other batches that failed just before: the first of these waits as if they were its own. */
  readonly failedBefore?: number
}

/** A part on its way, and how things stood when it was sent. */
export interface SentPart {
  readonly part: Part
  readonly attempts: Attempts
  /** As `FlushState.moment` counts. */
  readonly sentAt: number
  /** Pushes of which something had been accepted. */
  readonly acceptedBefore: number
  /** Its attempts count among those of a flush in which nothing was accepted. */
  readonly isCounted: boolean
}

/** What came of a push. */
export interface Pushed {
  readonly verdict: Verdict
  /** How often the batch was sent; 0 when the gate held it back. */
  readonly attempts: number
  /** It failed after so long that it is not repeated as it is. */
  readonly isSlow?: true
}

/** A verdict of one kind. */
export type VerdictOf<K extends Verdict['kind']> = Extract<Verdict, { kind: K }>

/** A part that the service failed on. */
export interface FailedPart {
  readonly part: Part
  readonly verdict: VerdictOf<'transient'>
  /** It took so long that there are to be few rounds. */
  readonly isSlow: boolean
}

/** A batch that was not sent yet. */
export function fresh(batch: Batch, attempts = attemptsMax): Part {
  return { batch, sent: 0, attemptsMax: attempts }
}

/** Attempts of a push: a batch of several protocols is tried once before they are tried apart. */
export function attemptsOf({ batch, attemptsMax: wanted }: Part): number {
  return batch.some(({ protocolId }) => protocolId !== batch[0].protocolId) ? 1 : wanted
}

/** Metrics above which thirds find a bad one with fewer pushes than halves. */
const thirdsMin = 4

/** Smaller parts of some metrics of a part that was sent: thirds of more than four, else halves. */
export function smaller({ sent, attemptsMax }: Part, metrics: readonly Metric[]): Part[] {
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
