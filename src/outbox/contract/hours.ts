import type { AsOfBlock, PinnedBlock, PinnedLogs } from '../../model/block.ts'
import type { Fault, FaultRecord } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { Metric, Provenance } from '../../model/metric.ts'
import type { Remark } from '../../model/remarks.ts'
import type { DayHours } from '../../model/rhythm.ts'
import type { Accepted, DeadLetter, StoredMetric } from './metrics.ts'

/** A collector's hour with at least one delivered metric. */
export interface DeliveredHour {
  /** Id of the collector. */
  readonly collector: string
  readonly hour: Hour
}

/** State of an expected hour. */
export type CollectionState = 'due' | 'collected' | 'gap'

/** An expected (collector, hour) with its state. */
export interface CollectionRow {
  /** Id of the collector. */
  readonly collector: string
  readonly hour: Hour
  readonly state: CollectionState
  /** Failed attempts so far. */
  readonly attempts: number
  /** Fault of the last attempt; absent without one. */
  readonly fault?: FaultRecord
}

/** A collector with overdue hours. */
export interface LateCollector {
  /** Id of the collector. */
  readonly collector: string
  /** Number of overdue hours. */
  readonly hours: number
  /** Its oldest late hour. */
  readonly oldest: Hour
  /** Fault of the oldest; absent when it was not tried yet. */
  readonly fault?: FaultRecord
}

/** Consecutive hours of a collector with the same state and fault. */
export interface CollectorHourRange {
  readonly collector: string
  readonly from: Hour
  /** Last hour, included. */
  readonly to: Hour
  /** Number of hours in the range. */
  readonly hours: number
  /** Why the first of the hours is not collected; absent for hours not tried yet. */
  readonly fault?: FaultRecord
}

/** A due (collector, hour) whose next attempt has come. */
export interface DueHour {
  /** Id of the collector. */
  readonly collector: string
  readonly hour: Hour
  /** Attempts so far. */
  readonly attempts: number
  /** Fault of the last attempt; absent without one. */
  readonly fault?: FaultRecord
}

/** Selects due hours of collectors. */
export interface DueHoursWanted {
  /** Ids of the collectors, in the order in which their hours are to be started. */
  readonly collectors: readonly string[]
  /** The last hour. */
  readonly current: Hour
  /** Milliseconds since 1970; hours that are to be tried later are left out. */
  readonly nowMs: number
  /** Most hours of each collector, the newest first. */
  readonly limit: number
  /** Hours that the caller collects already, of other collectors, too: a store that claims hours leaves room for them. */
  readonly underWay?: readonly DueHour[]
}

/** The hours that are to be expected of a collector. */
export interface HourPlan {
  /** Id of the collector. */
  readonly collector: string
  /**
   * First hour by the configuration, not after `current`. A configured start moves the start of a known collector
   * back; otherwise a collector is expected from the first current hour on.
   */
  readonly since?: Hour
  /** Hours of the day that are expected; uncollected rows of others are deleted. Default: all. */
  readonly at?: DayHours
  /** The current hour. */
  readonly current: Hour
  /** The oldest hour that may still be collected: due hours before it become gaps. */
  readonly oldest: Hour
  /** Why hours before `oldest` are gaps, for those without a fault of their own. */
  readonly gapReason: Fault
}

/** One hour of several collectors, each given by its index in the list passed in. */
export interface HourOfAll {
  /** State of a collector's hour; `undefined` where it has none. One that a backfill has read in part is collected. */
  readonly stateOf: (place: number) => CollectionState | undefined
  /** Whether a collector has a metric of the hour in an undelivered state. */
  readonly has: (place: number, state: 'due' | 'dead' | 'held') => boolean
}

/** Dead or held metrics of a collector's hour. */
export interface DeadOrHeldHour {
  readonly collector: string
  readonly hour: Hour
  readonly state: 'dead' | 'held'
  /** Number of its metrics in that state. */
  readonly metrics: number
  /** The reason of one of them. */
  readonly reason: string
}

/** Why hours are not simply collected and delivered. */
export interface HourReasons {
  /** Due hours that have failed, and gaps: each with its fault. */
  readonly failed: readonly CollectionRow[]
  readonly deadOrHeld: readonly DeadOrHeldHour[]
}

/** A collector's hour whose values were read at a block that was not final. */
export interface PinnedHour {
  readonly hour: Hour
  /** Id of the collector. */
  readonly collector: string
  readonly block: AsOfBlock
  /** Logs the values were computed from; absent where none were read. */
  readonly logs?: readonly PinnedLogs[]
}

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
  readonly acceptedValues: readonly Accepted[]
  /** The non-final blocks that the values were read at. Default: none. */
  readonly pins?: readonly PinnedBlock[]
  /** Effect on values that exist already. Default: `first-stands`. */
  readonly mode?: EnqueueMode
  /** Why the hour is not complete; it stays due until the next attempt, in milliseconds since 1970. Default: complete. */
  readonly failure?: { readonly fault: Fault; readonly nextAttemptMs: number }
  /** Origin of the values. Default: not known. */
  readonly provenance?: Provenance
  /**
   * A backfill was asked for the hour, and it is not expected: a failure of it is not retried, and kept until the hour
   * is collected. Default: expected.
   */
  readonly unexpected?: boolean
  /**
   * Of a derived hour: how often its inputs had changed when they were read. It stays due if they have changed since. Its
   * values replace those before. Default: the hour is not derived.
   */
  readonly inputChanges?: number
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

/** A value that a metric had before it was corrected. */
export interface EarlierValue {
  /** In the metric's unit. */
  readonly value: number
  /** When it was replaced, in milliseconds since 1970. */
  readonly untilMs: number
}

/** An hour of a metric's history: its value, and what happened to it. */
export interface HistoryEntry extends StoredMetric {
  /** When its first value was stored, in milliseconds since 1970. */
  readonly collectedMs: number
  /** When the service accepted it, in milliseconds since 1970; absent unless it is delivered. */
  readonly deliveredMs?: number
  /** Its values before the present one, the oldest first. */
  readonly earlier: readonly EarlierValue[]
}

/** A block that values of an hour were read at. */
export interface OriginBlock extends Pick<PinnedBlock, 'chainId' | 'block'> {
  /** Whether it cannot be replaced any more. */
  readonly isFinal: boolean
}

/** An attempt at collecting an hour that failed. */
export interface FailedAttempt {
  /** When it ended, in milliseconds since 1970. */
  readonly atMs: number
  readonly reason: string
}

/** A collector's expected hour, and how its latest values came about. */
export interface HourOrigin extends CollectionRow {
  /** The newest failed attempts, the oldest of them first; older ones are only counted. */
  readonly failed: readonly FailedAttempt[]
  /** Absent where no value was stored, or where it was lost in a damaged outbox. */
  readonly provenance?: Provenance
  /** One for each chain that it has read and whose block is still known. */
  readonly blocks: readonly OriginBlock[]
}

/** Flushes of a destination, one after the other, that left metrics over for the same reason. */
export interface UnsuccessfulFlushes {
  /** End of the first, in milliseconds since 1970. */
  readonly firstMs: number
  /** End of the last, in milliseconds since 1970. */
  readonly lastMs: number
  /** Their number. At least 1. */
  readonly flushes: number
  /** Why, as a sentence, in the words of the latest. */
  readonly reason: string
}
