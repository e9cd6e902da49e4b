import type { MetricId } from '../../model/metric.ts'

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
