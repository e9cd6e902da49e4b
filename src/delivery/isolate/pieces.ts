import { type Batch, batchesOf, isBatch } from '../../model/batch.ts'
import type { Metric } from '../../model/metric.ts'
import type { Verdict } from '../../model/verdict.ts'

/** Attempts of one push before it is left for a later flush. */
export const attemptsMax = 5

/** Attempts of a piece of a batch that fails while the service takes others. */
export const troubledAttemptsMax = 2

/** Metrics that are pushed together, with their history in this flush. */
export interface Piece {
  readonly batch: Batch
  /** Number of pushes each of them was sent in. */
  readonly sent: number
  /** Attempts of the next push, at most. */
  readonly attemptsMax: number
  /** The other half of the pair it comes from. */
  readonly pairedWith?: Metric
  /** Whether the service failed on it while it took others: it goes after everything else. */
  readonly isLast?: true
  /** Whether it is a probe out of quarantine: a further failure says nothing about the service. */
  readonly isProbe?: true
  /** Whether it is a sample, sent to find out whether the service fails on the whole protocol. */
  readonly isSample?: true
  /** Whether its protocol was registered for it: it is not registered a second time. */
  readonly isRegistered?: true
}

/** Limits on the attempts of a batch. */
export interface Attempts {
  readonly attemptsMax: number
  /** Attempts of other batches that failed just before: the first attempt waits as if they were its own. */
  readonly failedBefore?: number
  /** Whether it is the known-good metric, which need not be due. */
  readonly isKnownGood?: true
}

/** A piece under way, with the state of the flush when it was sent. */
export interface SentPiece {
  readonly piece: Piece
  readonly attempts: Attempts
  /** As `FlushState.sequence` counts. */
  readonly sentAt: number
  /** Pushes of which at least one metric had been accepted. */
  readonly acceptedBefore: number
  /** Whether its attempts count among those of a flush without an accepted push. */
  readonly isCounted: boolean
}

/** Result of a push. */
export interface Pushed {
  readonly verdict: Verdict
  /** Number of attempts; 0 when the gate held it back. */
  readonly attempts: number
  /** Whether it failed after so long that it is not repeated. */
  readonly isSlow?: true
}

/** A verdict of one kind. */
export type VerdictOf<K extends Verdict['kind']> = Extract<Verdict, { kind: K }>

/** Why a protocol is not registered: the service cannot do so now, or it refuses to. */
export type NotRegistered = VerdictOf<'transient'> | { readonly kind: 'refused'; readonly reason: string }

/** A piece that the service failed on. */
export interface FailedPiece {
  readonly piece: Piece
  readonly verdict: VerdictOf<'transient'>
  /** Whether it took so long that few rounds should follow. */
  readonly isSlow: boolean
}

/** A batch that was not sent yet. */
export function fresh(batch: Batch, attempts = attemptsMax): Piece {
  return { batch, sent: 0, attemptsMax: attempts }
}

/** Attempts of a push: a batch of several protocols is sent once before they are sent separately. */
export function attemptsOf({ batch, attemptsMax: wanted }: Piece): number {
  return batch.some(({ protocolId }) => protocolId !== batch[0].protocolId) ? 1 : wanted
}

/** Metrics above which thirds find a bad one with fewer pushes than halves. */
const thirdsMin = 4

/** Metrics above which a batch that was too large is sent in quarters: each further size is refused by each worker. */
const quartersMin = 50

/** Size of the pieces in which so many rejected metrics are sent again. @param isTooLarge whether only their number is at fault */
export function smallerSize(count: number, isTooLarge = false): number {
  if (isTooLarge && count > quartersMin) return Math.ceil(count / 4)
  return Math.max(1, Math.ceil(count / (count > thirdsMin ? 3 : 2)))
}

/** Divides metrics of a piece that was sent into smaller pieces. @param isTooLarge as `smallerSize` */
export function smaller({ sent, attemptsMax }: Piece, metrics: readonly Metric[], isTooLarge = false): Piece[] {
  const size = smallerSize(metrics.length, isTooLarge)
  const pieces = batchesOf(metrics, size).map(batch => ({ batch, sent, attemptsMax }))
  const [one, other] = metrics
  if (metrics.length !== 2 || !one || !other) return pieces
  return pieces.map(piece => ({ ...piece, pairedWith: piece.batch[0] === one ? other : one }))
}

/**
 * Pieces of a batch that the service failed on: whole protocols as long as there are several, then metrics.
 *
 * @param ways how many pieces there may be
 */
export function piecesOf({ sent: attempts }: Piece, metrics: readonly Metric[], ways: number): Piece[] {
  const byProtocol = [...Map.groupBy(metrics, ({ protocolId }) => protocolId).values()]
  const units: readonly (readonly Metric[])[] = byProtocol.length > 1 ? byProtocol : metrics.map(metric => [metric])
  const size = Math.max(1, Math.ceil(units.length / ways))
  const count = Math.ceil(units.length / size)
  const pieces: readonly (readonly Metric[])[] = Array.from({ length: count }, (_, at) =>
    units.slice(at * size, (at + 1) * size).flat(),
  )
  return pieces.filter(isBatch).map(batch => ({ batch, sent: attempts, attemptsMax: troubledAttemptsMax }))
}
