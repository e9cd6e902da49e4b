import type { PinnedBlock } from '../../model/block.ts'
import type { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { Metric, Provenance } from '../../model/metric.ts'
import type { Remark } from '../../model/remarks.ts'
import type { Accepted, DeadLetter } from './metrics.ts'

/**
 * Effect on a metric that has a value for its hour already. `first-stands`: none. `correct`: a different value replaces
 * it and is due again; a held metric stays held, a dropped one stays dropped.
 */
export type EnqueueMode = 'first-stands' | 'correct'

/** Result of one run of a collector for one hour, to be recorded. */
export interface CollectionOutcome {
  /** Id of a collector that was planned before, unless the hour is `unexpected`: its values are refused otherwise. */
  readonly collector: string
  readonly hour: Hour
  readonly accepted: readonly Accepted[]
  /** The non-final blocks that the values were read at. Default: none. */
  readonly pins?: readonly PinnedBlock[]
  /** Effect on values that exist already. Default: `first-stands`. */
  readonly mode?: EnqueueMode
  /** Why the hour is not complete; it stays due until the next attempt, in milliseconds since 1970. Default: complete. */
  readonly failed?: { readonly fault: Fault; readonly nextAttemptMs: number }
  /** Origin of the values. Default: not known. */
  readonly provenance?: Provenance
  /**
   * A backfill was asked for the hour, and it is not expected: a failure of it is not retried, and kept until the hour
   * is collected. Default: expected.
   */
  readonly unexpected?: boolean
}

/** Result of recording an outcome. */
export interface Recorded {
  /** Number of metrics whose value changed. */
  readonly corrected: number
  /** Number of new metrics. */
  readonly added: number
}

/** Verdict on a batch, by metric; a metric that is not named stays due. */
export interface MetricVerdicts {
  /** The service has them. */
  readonly delivered: readonly Metric[]
  readonly dead: readonly DeadLetter[]
  /** Remarks of the service on what it accepted. */
  readonly warnings: readonly Remark[]
}
