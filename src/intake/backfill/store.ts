import type { PinnedBlock } from '../../model/block.ts'
import type { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { Outbox, Recorded } from '../../outbox/outbox.ts'
import type { Accepted } from '../../outbox/tables/metrics.ts'

/** The part of the outbox a backfill works with. */
export type BackfillOutbox = Pick<
  Outbox,
  'expectedHours' | 'metrics' | 'recordCollection' | 'disk' | 'tally' | 'destinations'
>

/** What a collector came to for one hour, to be stored. */
export interface HourToStore {
  readonly collector: string
  readonly hour: Hour
  readonly accepted: readonly Accepted[]
  /** The blocks it was read at that may still be reorganized. */
  readonly pins: readonly PinnedBlock[]
  /** Why it is not complete. */
  readonly fault?: Fault
}

/**
 * Stores an hour, row and values in one commit. Values of one that is not complete are kept; nobody but the person who
 * asked for it waits for the rest. Rejects with the outbox's Fault.
 */
export function storeHour(
  outbox: BackfillOutbox,
  { fault, ...outcome }: HourToStore,
  mode: 'first-stands' | 'correct',
  nowMs: number,
): Promise<Recorded> {
  const failed = fault && { failed: { fault, nextAttemptMs: nowMs } }
  return outbox.recordCollection({ ...outcome, mode, unexpected: true, ...failed }, nowMs)
}
