import type { Hour } from '../../model/hour.ts'
import type { Metric, MetricId } from '../../model/metric.ts'
import type { DeadMetric } from '../../model/verdict.ts'

/**
 * `due`: to be pushed. `delivered`: the service has it. `dead`: the service rejected it for good. `held`: implausible,
 * waits for a person. `dropped`: given up by a person; the row stays for a while, so that the metric is not collected
 * again. `private`: kept for other values, and never sent.
 */
export type MetricState = 'due' | 'delivered' | 'dead' | 'held' | 'dropped' | 'private'

/** A metric id and an hour: at most one value. */
export type MetricKey = Pick<Metric, 'id' | 'hour'>

/** A metric and hour whose new value is judged by those before it. */
export interface ValueToJudge extends MetricKey {
  /** Whether the value is of no items: then values of a year before it count, and not only of a day. */
  readonly isOfNone?: boolean
}

/** Why a metric is held until a person decides. */
export interface Hold {
  /** `bounds`: it is outside declared ones, or of no items where there were some. */
  readonly kind: 'bounds' | 'jump' | 'unit'
  /** A sentence with the facts. */
  readonly reason: string
}

/** Reason to hold a value whose unit differs from the locked unit of its id; `undefined` when it does not. */
export function unitHold({ unit }: Pick<Metric, 'unit'>, past: MetricDescription): Hold | undefined {
  if (past.unit === unit) return undefined
  const was = past.unit === undefined ? 'there was none so far' : `was ${past.unit} so far`
  return { kind: 'unit', reason: `the unit is ${unit ?? 'gone'}, and ${was}: held until --allow-unit-change` }
}

/** A validated metric to enqueue. */
export interface Accepted {
  readonly metric: Metric
  /** Why it is held; absent when it is not. */
  readonly hold?: Hold
  /** Whether it is never sent. Default: it is due unless it is held. */
  readonly isPrivate?: boolean
}

/** A metric the service rejected for good, and how often it was sent. */
export interface DeadLetter extends DeadMetric {
  /** Number of pushes it was sent in. */
  readonly attempts: number
}

/** A metric with its state. */
export interface StoredMetric extends Metric {
  readonly state: MetricState
  /** Id of the collector. */
  readonly collector: string
  /** Why it is dead or held; absent otherwise. */
  readonly reason?: string
}

/** The stored facts about a metric id before a new value. */
export interface Past {
  /** The locked unit at that hour, set by the first value; absent for a metric without one. */
  readonly unit?: string
  /** Its last due, delivered or private value within 24 hours before that hour, of none within a year; absent when there is none. */
  readonly previous?: { readonly hour: Hour; readonly value: number }
}

/** Unit and module of a metric, each absent when it has none. */
export interface MetricDescription {
  readonly unit?: string
  readonly module?: string
}

/** Value and state of a metric at an hour. */
export interface ValueAndState {
  /** In the metric's unit. */
  readonly value: number
  readonly state: MetricState
}

/** A metric that waits for a person: dead (refused by the service) or held. */
export interface DeadOrHeldMetric extends Metric {
  readonly state: 'dead' | 'held'
  readonly kind: 'refused' | 'bounds' | 'jump' | 'unit'
  /** The service's words if dead; the reason for holding it if held. */
  readonly reason: string
  /** The service's HTTP status; absent if held. */
  readonly status?: number
  /** Number of pushes it was sent in; absent if held. */
  readonly attempts?: number
  /** Whether it is private once it is released. */
  readonly isPrivate?: boolean
  /** When it became dead or held, in milliseconds since 1970. */
  readonly sinceMs: number
  /** Id of the collector. */
  readonly collector: string
}

/** Selects dead or held metrics. Criteria are combined with "and". */
export interface Selection {
  readonly state: 'dead' | 'held'
  /** Metric ids or protocol ids. */
  readonly ids?: readonly string[]
  /** A part of the reason, in any case of letters. */
  readonly reason?: string
  /** Absent: any hour. */
  readonly hour?: Hour
}

/** Counts of dead and held metrics. */
export interface DeadAndHeldCounts {
  readonly dead: number
  readonly held: number
}

/** Selects due metrics. Criteria are combined with "and". */
export interface DueSelection {
  /** Metric ids or protocol ids. */
  readonly ids?: readonly string[]
  /** Protocol ids; a metric of any of them fits. */
  readonly protocolIds?: readonly string[]
  /** Absent: any hour. */
  readonly hour?: Hour
}

/** Selects and orders due metrics. */
export interface DueWanted {
  readonly protocolIds: readonly string[]
  /** Hours from here on come first, newest first; earlier ones are the backlog, oldest first. */
  readonly newestFirstFrom: Hour
  /** Last hour to read: the service would reject later ones as future. */
  readonly latest: Hour
}

/** Values of a metric in a range of hours. */
export interface MetricCurve {
  /** Its newest value in the range. */
  readonly latest: Omit<StoredMetric, 'reason'>
  /** One for each hour of the range, the oldest first; `null` where there is none, or where it is held or dead. */
  readonly values: readonly (number | null)[]
}

/**
 * Metrics ever enqueued, by state: `enqueued` is always delivered + dead + held + due. Delivered ones whose rows were
 * pruned are counted; those that a person dropped, and private ones, are counted separately.
 */
export type Balance = Readonly<Record<MetricState | 'enqueued', number>>

/** A distinct warning of the service about pushes, with how often it came. */
export interface Warning {
  /** Absent when the warning could not be matched to one metric. */
  readonly metricId?: MetricId
  /** As `warningKind` gives it. */
  readonly kind: string
  /** The service's words, of the last occurrence. */
  readonly text: string
  /** Number of occurrences. */
  readonly count: number
  /** First and last occurrence, in milliseconds since 1970. */
  readonly firstSeenMs: number
  /** Milliseconds since 1970. */
  readonly lastSeenMs: number
  /** A person has seen it: further ones are counted, not reported. */
  readonly isAcknowledged: boolean
}

/** Selects warnings. Criteria are combined with "and". */
export interface WarningSelection {
  /** Metric ids. */
  readonly ids?: readonly string[]
  /** As `warningKind` gives it; absent: any kind. */
  readonly kind?: string
}

/** A metric whose value of an hour is an input of so many derived hours, from its own on. */
export interface MetricSpan {
  readonly id: MetricId
  readonly hours: number
}

/** Hours of a metric, both ends included. */
export interface InputRange {
  readonly id: MetricId
  readonly from: Hour
  readonly to: Hour
}

/** A value that a derived one may be computed from. */
export interface StoredInput extends ValueAndState {
  /** Its unit at that hour; absent for a value without one. */
  readonly unit?: string
}

/** Inputs of derived hours. */
export interface StoredInputs {
  /** Values by hour, dropped ones included, by metric id. A metric without any is absent. */
  readonly values: ReadonlyMap<MetricId, ReadonlyMap<Hour, StoredInput>>
  /** Ids of the collectors that gave the metrics last. */
  readonly givers: ReadonlyMap<MetricId, string>
  /** Number of changes of the inputs of each derived hour, in the order asked; 0 for an hour without a row. */
  readonly changes: readonly number[]
}
