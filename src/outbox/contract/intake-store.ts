import type { FinalBlocks } from '../../model/block.ts'
import type { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { Backlog } from './delivery-store.ts'
import type {
  CollectionOutcome,
  CollectionState,
  DueHour,
  DueHoursWanted,
  HourPlan,
  PinnedHour,
  Recorded,
} from './hours.ts'
import type { InputRange, MetricSpan, Past, StoredInputs, ValueToJudge } from './metrics.ts'

/** The outbox for intake and backfill: the hours that are expected, and their values. Methods reject with errors that `OutboxHealth` classifies and explains. */
export interface IntakeStore {
  /**
   * Inserts the expected hours of a collector as due, and turns those that cannot be collected any more into gaps. None
   * is expected before the collector's start or after the current hour. Calls of one tick share commits.
   *
   * @returns how many hours became gaps
   */
  planHours(plan: HourPlan): Promise<number>
  /**
   * Due hours whose next attempt has come. A next attempt further ahead than any wait was written by a wrong clock and
   * counts as come.
   */
  dueHours(wanted: DueHoursWanted): Promise<readonly DueHour[]>
  /** The earliest next attempt after an instant, in milliseconds since 1970; `undefined` when there is none. */
  nextAttemptMs(afterMs: number): Promise<number | undefined>
  /** Ends the waits of collectors for their next attempts: their due hours may be tried at once. */
  endRetryWaits(collectors: readonly string[]): Promise<void>
  /** States of a collector's hours in a range, both ends included; hours without a row are absent. */
  hourStates(collector: string, from: Hour, to: Hour): Promise<ReadonlyMap<Hour, CollectionState>>
  /** The newest collected hour of all collectors; `undefined` when there is none. */
  newestCollected(): Promise<Hour | undefined>

  /** The stored facts about metric ids before new values, in the order asked; `undefined` for an unknown id. */
  pasts(metrics: readonly ValueToJudge[]): Promise<readonly (Past | undefined)[]>
  /**
   * Stores which metrics a derived collector computes from. From then on a new or changed value of one, or one that is
   * released, makes the hours of the collector that it is an input of due again, in the same commit.
   */
  setInputs(collector: string, inputs: readonly MetricSpan[]): Promise<void>
  /** Values in ranges of hours, as of one instant. @param collectorHours the derived hours that they are inputs of */
  inputs(
    ranges: readonly InputRange[],
    collectorHours: readonly Pick<DueHour, 'collector' | 'hour'>[],
  ): Promise<StoredInputs>
  /**
   * Stores values, the blocks they were read at and the state of their hour. It resolves when a power cut cannot undo
   * it. All or none of an outcome is stored, unless it has more metrics than one commit may hold: that one is stored in
   * parts, the hour's state last, so that an hour is never collected without its values. Outcomes of one tick share a
   * commit.
   *
   * @throws Fault `disk-full` when there is no room, `outbox-moved` when the file is not in its place
   */
  record(outcome: CollectionOutcome, nowMs: number): Promise<Recorded>
  /** Turns a due hour into a gap: it can never be collected. No effect on a collected hour or a gap. */
  recordGap(collector: string, hour: Hour, fault: Fault): Promise<void>

  /**
   * Hours of a chain, up to one, whose values were read at a block that was not final; oldest first.
   *
   * @param collectors ids of those that are looked for. Default: all
   */
  pinnedHours(
    chainId: number,
    upTo: Hour,
    limit: number,
    collectors?: readonly string[],
  ): Promise<readonly PinnedHour[]>
  /** Deletes the pin of an hour whose block became final; a pin of another block stays. */
  confirmPin(chainId: number, pinned: Pick<PinnedHour, 'collector' | 'hour' | 'block'>): Promise<void>
  /** Deletes the pins of an hour that cannot be read again. */
  forgetPins(collector: string, hour: Hour): Promise<void>
  /** The cache of the final as-of blocks of a chain. It never rejects: what cannot be read or written is looked up again. */
  finalBlocks(chainId: number): FinalBlocks

  /** Counts of all metrics, and why deliveries wait. */
  backlog(): Promise<Backlog>
}
