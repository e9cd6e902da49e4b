import type { Hour } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'

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
  /** Number of dead metrics. */
  readonly dead: number
  /** Number of held metrics. */
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
  /** Lists of metrics that are left out, as they are when the outbox is read. Default: none. */
  readonly except?: Iterable<readonly Metric[]> | undefined
}
