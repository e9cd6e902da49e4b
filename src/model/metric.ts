import type { Hour } from './hour.ts'

/** `{protocolId}___{Label}`, as the interface says. */
export type MetricId = `${string}___${string}`

/** What a collector declares of one of its labels, before it has run. */
export interface MetricSpec {
  /** Free-form unit, one per metric id for ever; absent when the value has none. */
  readonly unit?: string
  /** The service's module; it defaults to `protocol` there. */
  readonly module?: string
  /** A value below this is suspicious. In the metric's unit. */
  readonly min?: number
  /** A value above this is suspicious. In the metric's unit. */
  readonly max?: number
  /**
   * A change against the last value of the day before that is larger than this is suspicious: in the metric's unit, or as
   * a part of that value, like `'20%'`.
   */
  readonly maxJump?: number | `${number}%`
}

/** A validated value of one metric at one hour: what waits in the outbox. */
export interface Metric {
  readonly id: MetricId
  readonly protocolId: string
  readonly hour: Hour
  /** Finite. */
  readonly value: number
  readonly unit?: string
  readonly module?: string
}

/** The metric id of a protocol’s label. */
export function metricId(protocolId: string, label: string): MetricId {
  return `${protocolId}___${label}`
}

/** The label of a metric id: what follows the first three underscores after the protocol id. */
export function labelOf(metric: Pick<Metric, 'id' | 'protocolId'>): string {
  return metric.id.slice(metric.protocolId.length + 3)
}
