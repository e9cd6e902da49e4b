import type { Hour } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import type { DeadMetric } from '../../model/verdict.ts'

/**
 * `due`: to be pushed. `delivered`: the service has it. `dead`: the service rejected it for good. `held`: implausible,
 * waits for a person. `dropped`: given up by a person; the row stays for a while, so that the metric is not collected
 * again.
 */
export type MetricState = 'due' | 'delivered' | 'dead' | 'held' | 'dropped'

/** A metric id and an hour: at most one value. */
export type MetricKey = Pick<Metric, 'id' | 'hour'>

/** Why a metric is held until a person decides. */
export interface Hold {
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
  /** Why it is held; absent when it is due. */
  readonly hold?: Hold
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
  /** Its last due or delivered value within 24 hours before that hour; absent when there is none. */
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
