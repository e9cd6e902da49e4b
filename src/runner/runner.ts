import type { CollectorConfig, OptionMistake, OptionSecret } from '../config/config.ts'
import type { PinnedBlock } from '../model/block.ts'
import type { FaultRecord } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import type { MetricSpec, Provenance } from '../model/metric.ts'

/** Description of a configured collector, once its file is loaded and its options are parsed. */
export interface CollectorDescription {
  /** Declarations by label; at least one. */
  readonly metrics: Readonly<Record<string, MetricSpec>>
  /** Whether past hours can be read. */
  readonly history: boolean
  /** Secrets that its options declare; absent without any. They are read at each run. */
  readonly secrets?: readonly OptionSecret[]
}

export type DescribeResult =
  | ({ readonly kind: 'usable' } & CollectorDescription)
  | { readonly kind: 'mistaken'; readonly mistakes: readonly OptionMistake[] }

/** Result of one run of a collector for one hour: every declared label is in exactly one of the two. */
export interface RunOutcome {
  /** Finite numbers, by label. */
  readonly readings: Readonly<Record<string, number>>
  /** Why a label has no value, by label; undeclared labels that were returned are listed, too. */
  readonly failures: Readonly<Record<string, FaultRecord>>
  /** Labels whose value is the 0 of no items. Default: none. */
  readonly ofNone?: readonly string[]
  /** The block it read of each chain; empty when it read none. */
  readonly pins: readonly PinnedBlock[]
  /** Origin of the values. Default: not known. */
  readonly provenance?: Provenance
}

/**
 * Runs collectors in processes of their own, so that one that hangs, blocks, exits or exhausts memory stops no other. A
 * process that stops answering is replaced, and the runs of others in it are repeated.
 */
export interface Runner {
  /** Loads the collector. Rejects with Fault `collector-unusable` (or `collector-hung`) when it cannot be loaded. */
  describe(collector: CollectorConfig): Promise<DescribeResult>
  /**
   * Runs the collector for an hour. Rejects with a Fault when the run as a whole failed; ends at the deadline in any
   * case.
   */
  collect(collector: CollectorConfig, hour: Hour): Promise<RunOutcome>
  /**
   * Forgets what is remembered of the lists that a collector is over, since hosts disagree about its values; at most once a
   * day. Absent where nothing is remembered.
   *
   * @returns whether a list is read from its beginning now
   */
  doubtLists?(collector: CollectorConfig): Promise<boolean>
  /** Ends every process; resolves when they have ended. */
  stop(): Promise<void>
}
