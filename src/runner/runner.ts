import type { CollectorConfig, OptionMistake } from '../config/config.ts'
import type { OptionSecret } from '../config/option-secrets.ts'
import type { PinnedBlock } from '../model/block.ts'
import type { FaultRecord } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import type { MetricSpec } from '../model/metric.ts'

/** What is known of a configured collector once its file is loaded and its options are parsed. */
export interface CollectorDescription {
  /** Label → what is declared of it; at least one. */
  readonly metrics: Readonly<Record<string, MetricSpec>>
  /** Whether a past hour may be asked for. */
  readonly history: boolean
  /** Secrets that its options ask for; absent without any. They are read at each run. */
  readonly secrets?: readonly OptionSecret[]
}

export type DescribeResult =
  | ({ readonly kind: 'usable' } & CollectorDescription)
  | { readonly kind: 'mistaken'; readonly mistakes: readonly OptionMistake[] }

/** What one run of a collector for one hour came to: every declared label is in exactly one of the two. */
export interface RunOutcome {
  /** Finite numbers, by label. */
  readonly readings: Readonly<Record<string, number>>
  /** Why a label has no value, by label. A label that was returned but not declared is here, too, under its own name. */
  readonly failures: Readonly<Record<string, FaultRecord>>
  /** The block it read of each chain it asked; empty for one that asked none. */
  readonly pins: readonly PinnedBlock[]
}

/**
 * Runs collectors in processes of their own, so that one that hangs, spins, exits or eats all memory stops nothing
 * else. A process that stops answering is replaced, and what it had under way for others is run again.
 */
export interface Runner {
  /** Loads the collector. Rejects with Fault `collector-unusable` (or `collector-hung`) when it cannot be loaded. */
  describe(collector: CollectorConfig): Promise<DescribeResult>
  /** Rejects with a Fault when the run as a whole failed; ends at the deadline in any case. */
  collect(collector: CollectorConfig, hour: Hour): Promise<RunOutcome>
  /** Ends every process; complete when it returns. */
  stop(): Promise<void>
}
