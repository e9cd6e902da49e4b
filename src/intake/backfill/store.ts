import type { PinnedBlock } from '../../model/block.ts'
import type { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { Accepted } from '../../outbox/contract/metrics.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import type { Recorded } from '../../outbox/contract/outcome.ts'

/** The part of the outbox that a backfill needs. */
export type BackfillOutbox = Pick<Outbox, 'intake' | 'health'>

/** Result of a collector for one hour, to be stored. */
export interface HourToStore {
  readonly collector: string
  readonly hour: Hour
  readonly accepted: readonly Accepted[]
  /** The non-final blocks it was read at. */
  readonly pins: readonly PinnedBlock[]
  /** Why it is not complete; absent when it is. */
  readonly fault?: Fault
}

/**
 * Stores an hour's row and values in one commit. Values of an incomplete hour are kept; its rest is not retried, as the
 * hour was not expected. Rejects with the outbox's Fault.
 */
export function storeHour(
  outbox: BackfillOutbox,
  { fault, ...outcome }: HourToStore,
  mode: 'first-stands' | 'correct',
  nowMs: number,
): Promise<Recorded> {
  const failed = fault && { failed: { fault, nextAttemptMs: nowMs } }
  return outbox.intake.record({ ...outcome, mode, unexpected: true, ...failed }, nowMs)
}
