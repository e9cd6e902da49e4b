import type { FaultCode } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { DayHours } from '../../model/rhythm.ts'
import type { Backlog, DestinationState } from './delivery-store.ts'
import type { CollectionRow, HourOfAll, HourReasons, LateCollector } from './hours.ts'
import type { DeadAndHeldCounts, MetricCurve, StoredMetric, Warning } from './metrics.ts'

/** Whom lateness is asked for. */
export interface LatenessWanted {
  /** The configured collectors, with their configured starts, and the hours of the day that are expected of them. */
  readonly collectors: readonly {
    readonly id: string
    readonly since?: Hour | undefined
    readonly at?: DayHours | undefined
  }[]
  readonly protocolIds: readonly string[]
  /** Names of the destinations. */
  readonly destinations: readonly string[]
  /** The newest hour that should be delivered. */
  readonly hour: Hour
}

/** Late hours and metrics at an hour. */
export interface Lateness {
  /** Collectors with due hours at or before the hour, or whose hour only a backfill has tried and could not read. */
  readonly late: readonly LateCollector[]
  /** Collectors that are expected for the hour, have no row of it, and were not asked for it by a backfill either. */
  readonly missing: readonly string[]
  /** Collectors for which the hour is a gap. */
  readonly gaps: readonly CollectionRow[]
  /** Metrics due at or before the hour; absent when there are none. */
  readonly due?: { readonly oldest: Hour; readonly metrics: number }
  /** Dead and held metrics of the hour. */
  readonly deadAndHeld: DeadAndHeldCounts
  /** States of the destinations, in the order asked. */
  readonly destinations: readonly DestinationState[]
}

/** Lateness, counts and warnings. */
export interface Overview extends Lateness {
  readonly backlog: Backlog
  /** All warnings of the service, last seen first. */
  readonly warnings: readonly Warning[]
}

/** An overview with the rows and values of a range of hours. */
export interface Detail extends Overview {
  /** By hour and collector. */
  readonly rows: readonly CollectionRow[]
  /** In the order in which the metrics were first stored; dropped values are left out. */
  readonly curves: readonly MetricCurve[]
}

/** Gaps, or dead or held metrics, of one collector. */
export interface UnresolvedCount {
  readonly kind: 'gap' | 'dead' | 'held'
  readonly collector: string
  /** Number of hours (gaps), or of metrics. At least 1. */
  readonly count: number
  /** The newest of them. */
  readonly hour: Hour
  /** Why, in the words of the newest. */
  readonly reason: string
}

/** The oldest hour in each state that should pass; `undefined` when there is none. */
export interface OldestHours {
  /** Not collected. */
  readonly due: Hour | undefined
  /** Collected and not delivered. */
  readonly collected: Hour | undefined
  readonly held: Hour | undefined
}

/** Gaps of a collector with the same reason. */
export interface GapCount {
  readonly collector: string
  /** Code of the fault that made them gaps. */
  readonly code: FaultCode
  readonly hours: number
}

/**
 * The outbox for status: looks that change nothing. The result of a look is as of one instant. Methods
 * reject with errors that `OutboxHealth` classifies and explains.
 */
export interface StatusStore {
  /** Late hours and metrics. */
  lateness(wanted: LatenessWanted): Promise<Lateness>
  /** Late hours and metrics, counts of all metrics, and warnings. */
  overview(wanted: LatenessWanted): Promise<Overview>
  /**
   * An overview, with the rows and values of a range of hours, both ends included. It works in parts: the overview is as of
   * one instant, each hour as of another.
   */
  detail(wanted: LatenessWanted, from: Hour, to: Hour): Promise<Detail>
  /**
   * The newest value of each metric in a range of hours, both ends included, in the order in which the metrics were first
   * stored. It reads little more than what it gives.
   *
   * @param withDropped whether dropped ones count. Default: no
   */
  newest(from: Hour, to: Hour, withDropped?: boolean): Promise<readonly StoredMetric[]>
  /**
   * States of a range of hours, both ends included, without values: an entry an hour, the oldest first. Each hour as of
   * an instant of its own.
   */
  hoursOfAll(collectors: readonly string[], from: Hour, to: Hour): Promise<readonly HourOfAll[]>
  /** The names of all collectors that were ever expected, in their order by name. */
  collectors(): Promise<readonly string[]>
  /**
   * Why hours of a range, both ends included, are not simply collected and delivered, the newest first. Each hour as of
   * an instant of its own.
   *
   * @param most reasons after which no older hour is read
   */
  reasons(from: Hour, to: Hour, most: number): Promise<HourReasons>
  /** Gaps, dead and held metrics of all hours and collectors, by kind and collector. */
  unresolved(): Promise<readonly UnresolvedCount[]>
  /** The oldest hours, up to `latest`, in states that should pass. */
  oldestHours(collectors: readonly string[], protocolIds: readonly string[], latest: Hour): Promise<OldestHours>
  /**
   * The newest hour of each collector, up to `upTo`, that is completely delivered; if there is none, the hour it is
   * expected from. A collector without a schedule is absent. An old answer may be ten minutes old.
   */
  newestDelivered(collectors: readonly string[], upTo: Hour, nowMs: number): Promise<ReadonlyMap<string, Hour>>
  /** Gaps of collectors in a range of hours, both ends included, by collector and code. */
  gapCounts(collectors: readonly string[], from: Hour, to: Hour): Promise<readonly GapCount[]>
}
