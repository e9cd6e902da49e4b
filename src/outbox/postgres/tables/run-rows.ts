import { runMetricsMax } from '../../rows/run-values.ts'
import type { LoadedRun } from './edited-runs.ts'

/** A run as it is read to give metrics. */
export type StoredRun = Omit<LoadedRun, 'collectedMs' | 'deliveredMs'>

/** Columns of a `StoredRun`. */
export const runColumnsText =
  'outbox.hour, outbox.first, outbox.protocol, outbox.state, outbox.metrics, outbox.metric_values AS bytes'

/** Condition of the run of `outbox` that holds a metric. @param number expression of its number */
export function holdsText(number: string): string {
  // A run that begins earlier than this is shorter than the distance.
  return `outbox.first > ${number} - ${runMetricsMax} AND outbox.first <= ${number} AND outbox.first + outbox.metrics > ${number}`
}

/** Numbers of a run's metrics. */
export function numbersOf({ first, metrics }: Pick<LoadedRun, 'first' | 'metrics'>): number[] {
  return Array.from({ length: metrics }, (_, place) => first + place)
}

/** A number of hours that fits into PostgreSQL's type `integer`: an hour that means "any" may be later than all. */
export function withinInteger(number: number): number {
  return Math.min(number, 2 ** 31 - 1)
}
