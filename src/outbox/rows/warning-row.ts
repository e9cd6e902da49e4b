import type { MetricId } from '../../model/metric.ts'
import type { Warning } from '../contract/warnings.ts'

/** Columns of a warning's row. */
export interface WarningRow {
  /** Empty for one that is about no metric. */
  readonly metric: string
  readonly kind: string
  readonly text: string
  readonly count: number
  readonly first_ms: number
  readonly last_ms: number
  readonly acknowledged: number
}

/**
 * Distinct warnings kept; above it the least recently seen is deleted, so that ever-changing words cannot fill the
 * disk.
 */
export const warningsMax = 1_000

/** The warning in a row. Pure. */
export function warningOf({ metric, kind, text, count, first_ms, last_ms, acknowledged }: WarningRow): Warning {
  return {
    ...(metric !== '' && { metricId: metric as MetricId }),
    kind,
    text,
    count,
    firstSeenMs: first_ms,
    lastSeenMs: last_ms,
    isAcknowledged: acknowledged === 1,
  }
}
