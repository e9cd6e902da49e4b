import type { Hour } from '../../model/hour.ts'
import type { Metric, MetricId } from '../../model/metric.ts'
import type { Backlog, DestinationState } from './delivery-store.ts'
import type { CollectorHourRange, DeliveredHour, HistoryEntry, HourOrigin, UnsuccessfulFlushes } from './hours.ts'
import type {
  DeadOrHeldMetric,
  DueSelection,
  MetricKey,
  Selection,
  StoredMetric,
  ValueAndState,
  Warning,
  WarningSelection,
} from './metrics.ts'

/** Hours of collectors, both ends included. Default: all. */
export interface HoursWanted {
  /** Ids. Default: all. */
  readonly collectors?: readonly string[]
  /** First hour. Default: the oldest. */
  readonly from?: Hour
  /** Last hour, included. Default: the newest. */
  readonly to?: Hour
}

/** `locked`: a metric with another unit stays held. `changed`: releasing it changes the unit of its id. */
export type Units = 'locked' | 'changed'

/** The outbox for commands: what a person looks at and decides. Methods reject with errors that `OutboxHealth` classifies and explains. */
export interface OperatorStore {
  /** Counts of all metrics, and why deliveries wait. */
  backlog(): Promise<Backlog>
  /**
   * Ranges of hours in one state with the same reason (numbers in it aside), by collector and hour. Default: all.
   *
   * @param state `unread`: a backfill was asked for them and could not read them, and they are neither collected nor gaps
   */
  hourRanges(state: 'gap' | 'due' | 'unread', wanted?: HoursWanted): Promise<readonly CollectorHourRange[]>
  /** Every metric in a range of hours, both ends included, by hour; dropped ones are left out. */
  metrics(from: Hour, to: Hour): Promise<readonly StoredMetric[]>
  /** Hours of collectors with a delivered metric that is not pruned, oldest first. Reads every row in the range. */
  deliveredHours(collectors: readonly string[], from?: Hour, to?: Hour): Promise<readonly DeliveredHour[]>
  /** Values and states of metrics, dropped ones included, in the order asked; `undefined` where there is none. */
  stored(metrics: readonly MetricKey[]): Promise<readonly (ValueAndState | undefined)[]>

  /** A metric in a range of hours, both ends included, dropped ones too, oldest first. Default: all hours. */
  history(id: MetricId, from?: Hour, to?: Hour): Promise<readonly HistoryEntry[]>
  /** Origin of the values of a collector's hour; `undefined` where the hour has no row. */
  origin(collector: string, hour: Hour): Promise<HourOrigin | undefined>
  /** Unsuccessful flushes of a destination that ended in a span of time, both ends included, the oldest first. */
  unsuccessfulFlushes(destination: string, fromMs: number, toMs: number): Promise<readonly UnsuccessfulFlushes[]>

  /** Expects an hour of a collector that a person collects now; an unknown collector from the current hour on, too. */
  expectHour(collector: string, hour: Hour, current: Hour): Promise<void>
  /** Changes the locked unit of a metric id from the metric's hour on. */
  changeUnit(metric: Pick<Metric, 'id' | 'hour' | 'unit' | 'module'>): Promise<void>

  /** The selected dead or held metrics, by hour. */
  deadOrHeld(selection: Selection): Promise<readonly DeadOrHeldMetric[]>
  /**
   * Makes selected metrics due: a dead one is retried, a held one is sent after all. A metric whose unit differs from the
   * locked unit of its id changes that unit from its hour on, if `units` allows it.
   *
   * @returns how many
   */
  release(selection: Selection, units: Units): Promise<number>
  /** Gives up selected dead or held metrics for ever: they are neither sent nor collected again. @returns how many */
  drop(selection: Selection): Promise<number>
  /** The selected due metrics, by hour. */
  due(selection: DueSelection): Promise<readonly Metric[]>
  /**
   * Gives up selected due metrics for ever. One on its way may still reach the service; the answer changes nothing here.
   *
   * @returns how many
   */
  dropDue(selection: DueSelection): Promise<number>

  /**
   * Makes delivered metrics due again: the service does not show them as they are here. No effect on metrics in another
   * state.
   *
   * @returns how many
   */
  resend(metrics: readonly MetricKey[]): Promise<number>

  /** All warnings of the service, last seen first. */
  warnings(): Promise<readonly Warning[]>
  /** Marks selected warnings as seen. @returns how many were not seen before */
  acknowledge(selection: WarningSelection): Promise<number>

  /** The stored state of a destination. */
  destination(name: string): Promise<DestinationState>
  /** Lets the process that delivers flush at its next pass instead of waiting for its breakers. */
  requestFlush(): Promise<void>
}
