import { type Hour, hourAfter, hoursFrom } from '../../model/hour.ts'
import type { ListedMetrics } from '../listed-metrics.ts'

/** Delivered hours of one collector. */
export interface CollectorListing {
  /** The first hour to look at: earlier ones are delivered, or not known. Not after the current hour. */
  readonly from: Hour
  /** Hours from then on that are complete. */
  readonly complete: readonly Hour[]
}

/**
 * Compares a collector's metrics with what a service lists. Where several hours of a metric are listed, hours that are
 * missing between them count; where only the latest is, everything before it counts as delivered. A metric that was
 * never delivered does not count. Pure.
 *
 * @returns `undefined` when the service has nothing of it
 */
export function listingOf(ids: readonly string[], listed: ListedMetrics, current: Hour): CollectorListing | undefined {
  const known = ids.flatMap(id => listed.get(id) ?? []).filter(({ size }) => size > 0)
  if (known.length === 0) return undefined
  const newest = known
    .map(hours => Math.max(...hours.keys()) as Hour)
    .reduce((one, other) => (other < one ? other : one))
  const oldest = known
    .map(hours => Math.min(...hours.keys()) as Hour)
    .reduce((one, other) => (other > one ? other : one))
  const hasHistory = known.some(({ size }) => size > 1)
  const wanted = hasHistory ? oldest : hourAfter(newest, 1)
  const from = wanted < current ? wanted : current
  const isComplete = (hour: Hour) => (hasHistory ? known.every(hours => hours.has(hour)) : hour <= newest)
  return { from, complete: hoursFrom(from, current).filter(isComplete) }
}
