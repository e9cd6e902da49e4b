import { type Hour, hourAfter, hourAt, hoursFrom } from '../../model/hour.ts'
import { parseIsoInstant } from '../../model/iso-instant.ts'
import { isRecord } from '../../model/json.ts'

/** The hours that a service has values of, by metric id. */
export type StoredHours = ReadonlyMap<string, ReadonlySet<Hour>>

const depthMax = 8

/**
 * Reads metric ids and their timestamps out of an answer of any shape: records with `id` and `timestamp` in lists or
 * maps at any depth, also below a key or a record that names the metric.
 *
 * @returns empty when the answer has an empty list alone; `undefined` when there is no such record in it. Pure.
 */
export function listedHours(body: unknown): StoredHours | undefined {
  const found = new Map<string, Set<Hour>>()
  const counts = { lists: 0, entries: 0 }
  walk(body, undefined, 0)
  return found.size > 0 || (counts.lists > 0 && counts.entries === 0) ? found : undefined

  function walk(value: unknown, above: string | undefined, depth: number): void {
    if (depth > depthMax || typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      counts.lists += 1
      counts.entries += value.length
      for (const part of value) walk(part, above, depth + 1)
      return
    }
    const id = metricIdOf(value) ?? above
    const hour = hourOf(value)
    if (id !== undefined && hour !== undefined) found.set(id, (found.get(id) ?? new Set()).add(hour))
    for (const [key, part] of Object.entries(value)) walk(part, isMetricId(key) ? key : id, depth + 1)
  }
}

const isMetricId = (text: unknown): text is string => typeof text === 'string' && /^.+___./.test(text)

function metricIdOf(record: object): string | undefined {
  if (!isRecord(record)) return undefined
  return [record['id'], record['metricId'], record['metric_id']].find(isMetricId)
}

function hourOf(record: object): Hour | undefined {
  const written = isRecord(record) ? record['timestamp'] : undefined
  if (typeof written === 'string') {
    const instantMs = parseIsoInstant(written)
    return instantMs === undefined ? undefined : hourAt(instantMs)
  }
  if (typeof written !== 'number' || !Number.isFinite(written)) return undefined
  // Seconds since 1970 reach this number in the year 5138, milliseconds had it in 1973.
  return hourAt(Math.abs(written) < 1e11 ? written * 1000 : written)
}

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
export function listingOf(ids: readonly string[], listed: StoredHours, current: Hour): CollectorListing | undefined {
  const known = ids.flatMap(id => listed.get(id) ?? []).filter(({ size }) => size > 0)
  if (known.length === 0) return undefined
  const newest = known.map(hours => Math.max(...hours) as Hour).reduce((one, other) => (other < one ? other : one))
  const oldest = known.map(hours => Math.min(...hours) as Hour).reduce((one, other) => (other > one ? other : one))
  const hasHistory = known.some(({ size }) => size > 1)
  const wanted = hasHistory ? oldest : hourAfter(newest, 1)
  const from = wanted < current ? wanted : current
  const isComplete = (hour: Hour) => (hasHistory ? known.every(hours => hours.has(hour)) : hour <= newest)
  return { from, complete: hoursFrom(from, current).filter(isComplete) }
}
