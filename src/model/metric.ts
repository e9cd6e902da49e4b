import type { Hour } from './hour.ts'

/** `{protocolId}___{Label}`, as the interface defines it. */
export type MetricId = `${string}___${string}`

/** Whether a text can be the label of a metric id. */
export function isLabel(text: string): boolean {
  return /^[A-Za-z0-9._-]+$/.test(text) && !text.includes('___') && text !== '__proto__'
}

/** Declaration of one label of a collector. */
export interface MetricSpec {
  /** Free-form unit of the values. It cannot change for a metric id. Default: no unit. */
  readonly unit?: string
  /** The service's module. Default: `protocol`, set by the service. */
  readonly module?: string
  /** Lowest plausible value, in the metric's unit; a lower one is held. Default: none. */
  readonly min?: number
  /** Highest plausible value, in the metric's unit; a higher one is held. Default: none. */
  readonly max?: number
  /**
   * Largest plausible change since the last value sent within 24 hours: in the metric's unit, or as a part of that
   * value, like `'20%'`. A value with a larger change is held. Default: none.
   */
  readonly maxJump?: number | `${number}%`
  /**
   * Whether its values are kept for others to be computed from, and never sent. A collector may leave such a label out of an
   * hour. Default: no.
   */
  readonly private?: boolean
}

/** The part of a metric that is usually the same every hour. */
export interface MetricSeries {
  readonly id: MetricId
  /** The part of `id` before the three underscores. */
  readonly protocolId: string
  /** Unit of the values; absent when they have none. */
  readonly unit?: string
  /** The service's module. Default: `protocol`, set by the service. */
  readonly module?: string
}

/** A validated value of one metric at one hour, as it waits in the outbox. */
export interface Metric extends MetricSeries {
  readonly hour: Hour
  /** Finite. */
  readonly value: number
}

/** The metric id of a protocol’s label. */
export function metricId(protocolId: string, label: string): MetricId {
  return `${protocolId}___${label}`
}

/** The label of a metric id: the text after the first three underscores that follow the protocol id. */
export function labelOf(metric: Pick<Metric, 'id' | 'protocolId'>): string {
  return metric.id.slice(metric.protocolId.length + 3)
}

/** Origin of a collector's values of an hour: what made them, and from which endpoints. */
export interface Provenance {
  /** Version of tidegauge. */
  readonly version: string
  /** Digest of the collector's files; of a package, its version. */
  readonly code: string
  /** Digest of its options, as configured. */
  readonly options: string
  /** Host of the endpoint that served each chain, by the chain's id as `eth_chainId` answers it. */
  readonly hosts: Readonly<Record<string, string>>
}
