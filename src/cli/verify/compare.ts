import type { Hour } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import type { StoredMetric } from '../../outbox/contract/metrics.ts'
import type { ListedMetrics, ListedValue } from '../listed-metrics.ts'

/** One metric and hour that the outbox and the service do not have alike. */
export interface ServiceDifference {
  /** `missing`: not shown by the service. `unknown`: shown by it, and not in the outbox. */
  readonly kind: 'missing' | 'value' | 'unit' | 'unknown'
  readonly id: string
  readonly hour: Hour
  /** As delivered; absent for `unknown`. */
  readonly ours?: Pick<Metric, 'value' | 'unit'>
  /** As the service shows it; absent for `missing`. */
  readonly shown?: ListedValue
}

/** Result of comparing delivered metrics with what a service shows. */
export interface ServiceComparison {
  readonly differences: readonly ServiceDifference[]
  /** Delivered metrics that were compared. */
  readonly compared: number
  /** Delivered metrics of hours before those that the service shows. */
  readonly notShown: number
}

/**
 * Compares what was delivered with what a service shows. If it shows several hours of any metric, those of all of them
 * must be there from the oldest shown hour on; otherwise those of each from its own hour on. Of a metric that it does not
 * show at all, every hour is missing. Pure.
 *
 * @param stored of some hours and protocols, in any state
 * @param shown of the same protocols
 * @param upTo later hours that are shown do not count
 */
export function compare(stored: readonly StoredMetric[], shown: ListedMetrics, upTo: Hour): ServiceComparison {
  const differences: ServiceDifference[] = []
  const [known, oldest] = [new Set<string>(), oldestHour(stored)]
  const counts = { compared: 0, notShown: 0 }
  const firstShown = firstHours(shown)
  for (const metric of stored) {
    const { id, hour, state } = metric
    known.add(`${hour} ${id}`)
    if (state !== 'delivered') continue
    if (hour < (firstShown.get(id) ?? 0)) counts.notShown += 1
    else {
      counts.compared += 1
      const difference = differenceOf(metric, shown.get(id)?.get(hour))
      if (difference) differences.push(difference)
    }
  }
  for (const [id, hours] of shown) {
    for (const [hour, value] of hours) {
      if (hour < oldest || hour > upTo || known.has(`${hour} ${id}`)) continue
      differences.push({ kind: 'unknown', id, hour, shown: value })
    }
  }
  return { ...counts, differences: differences.sort((a, b) => a.hour - b.hour || (a.id < b.id ? -1 : 1)) }
}

/** The first hour of each metric from which on the service should have it. */
function firstHours(shown: ListedMetrics): ReadonlyMap<string, number> {
  const own = [...shown].map(([id, hours]) => [id, oldestOf(hours)] as const)
  const isHistory = [...shown.values()].some(({ size }) => size > 1)
  const first = own.reduce((oldest, [, hour]) => Math.min(oldest, hour), Number.POSITIVE_INFINITY)
  return new Map(own.map(([id, hour]) => [id, isHistory ? first : hour]))
}

function oldestOf(hours: ReadonlyMap<Hour, ListedValue>): number {
  let oldest = Number.POSITIVE_INFINITY
  for (const hour of hours.keys()) oldest = Math.min(oldest, hour)
  return oldest
}

function oldestHour(stored: readonly StoredMetric[]): number {
  return stored.reduce((oldest, { hour }) => Math.min(oldest, hour), Number.POSITIVE_INFINITY)
}

function differenceOf(
  { id, hour, value, unit }: StoredMetric,
  shown: ListedValue | undefined,
): ServiceDifference | undefined {
  const ours = { value, ...(unit !== undefined && { unit }) }
  if (!shown) return { kind: 'missing', id, hour, ours }
  if (shown.value !== undefined && shown.value !== value) return { kind: 'value', id, hour, ours, shown }
  if (shown.unit !== undefined && shown.unit !== (unit ?? '')) return { kind: 'unit', id, hour, ours, shown }
  return undefined
}
