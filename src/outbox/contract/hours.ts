import type { AsOfBlock, PinnedLogs } from '../../model/block.ts'
import type { Fault, FaultRecord } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'

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
  /** Why they are not collected, in the words of the first; absent for hours not tried yet. */
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
  /** The current hour. */
  readonly current: Hour
  /** The oldest hour that may still be collected: due hours before it become gaps. */
  readonly oldest: Hour
  /** Why hours before `oldest` are gaps, for those without a fault of their own. */
  readonly gapReason: Fault
}

/** One hour of several collectors, each given by its index in the list passed in. */
export interface HourOfAll {
  /** State of a collector's hour; `undefined` where there is no row. */
  readonly stateOf: (place: number) => CollectionState | undefined
  /** Whether a collector has a metric of the hour in an undelivered state. */
  readonly has: (place: number, state: 'due' | 'dead' | 'held') => boolean
}

/** Dead or held metrics of a collector's hour. */
export interface WithheldHour {
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
  readonly withheld: readonly WithheldHour[]
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
