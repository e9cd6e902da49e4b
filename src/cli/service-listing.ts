import { connect } from '../app/connection.ts'
import type { AppContext } from '../app/context.ts'
import type { Time } from '../edge/time.ts'
import { backoffMs } from '../model/backoff.ts'
import { Fault } from '../model/fault.ts'
import { type Hour, hourAt, parseIsoInstant } from '../model/hour.ts'
import { isRecord } from '../model/json.ts'
import { type Answer, transientOf } from '../model/verdict.ts'

/** A value as a service shows it. */
export interface ListedValue {
  /** Absent where none is shown, or where it is no number. */
  readonly value?: number
  /** Empty where the service shows that there is none; absent where it shows no unit. */
  readonly unit?: string
}

/** The metrics that a service shows: by id and hour. */
export type ListedMetrics = ReadonlyMap<string, ReadonlyMap<Hour, ListedValue>>

const depthMax = 8

/**
 * Reads metrics out of an answer of any shape: records with `id` and `timestamp` in lists or maps at any depth, also
 * below a key or a record that names the metric.
 *
 * @returns empty when the answer is an empty list; `undefined` when there is no such record in it, as in an empty list
 * below another name, or one whose timestamp cannot be read: that would count as missing. Pure.
 */
export function listedMetrics(body: unknown): ListedMetrics | undefined {
  const byMetric = new Map<string, Map<Hour, ListedValue>>()
  let unreadable = 0
  walk(body, undefined, 0)
  if (unreadable > 0) return undefined
  return byMetric.size > 0 || (Array.isArray(body) && body.length === 0) ? byMetric : undefined

  function walk(value: unknown, parentId: string | undefined, depth: number): void {
    if (depth > depthMax || typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      for (const part of value) walk(part, parentId, depth + 1)
      return
    }
    const id = metricIdOf(value) ?? parentId
    const hour = hourOf(value)
    if (id !== undefined && hour !== undefined) {
      const hours = byMetric.get(id) ?? new Map<Hour, ListedValue>()
      // An hour may have two records, one of them with fewer fields.
      byMetric.set(id, hours.set(hour, { ...hours.get(hour), ...listedValue(value) }))
    }
    if (id !== undefined && hour === undefined && 'timestamp' in value) unreadable += 1
    for (const [key, part] of Object.entries(value)) walk(part, isMetricId(key) ? key : id, depth + 1)
  }
}

/** Both of two listings; where both show a value, that of the second. */
function joinedListings(one: ListedMetrics, other: ListedMetrics): ListedMetrics {
  const ids = new Set([...one.keys(), ...other.keys()])
  return new Map([...ids].map(id => [id, new Map([...(one.get(id) ?? []), ...(other.get(id) ?? [])])]))
}

const isMetricId = (text: unknown): text is string => typeof text === 'string' && /^.+___./.test(text)

function metricIdOf(record: object): string | undefined {
  if (!isRecord(record)) return undefined
  return [record['id'], record['metricId'], record['metric_id']].find(isMetricId)
}

function listedValue(record: object): ListedValue {
  if (!isRecord(record)) return {}
  const { value, unit } = record
  // Some services write numbers as text, to lose no digit.
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return {
    ...(typeof number === 'number' && Number.isFinite(number) && { value: number }),
    ...(unit === null && { unit: '' }),
    ...(typeof unit === 'string' && { unit }),
  }
}

function hourOf(record: object): Hour | undefined {
  const timestamp = isRecord(record) ? record['timestamp'] : undefined
  if (typeof timestamp === 'string') {
    const instantMs = parseIsoInstant(timestamp)
    return instantMs === undefined ? undefined : hourAt(instantMs)
  }
  if (typeof timestamp !== 'number' || !Number.isFinite(timestamp)) return undefined
  // Seconds since 1970 reach this number in the year 5138, milliseconds had it in 1973.
  return hourAt(Math.abs(timestamp) < 1e11 ? timestamp * 1000 : timestamp)
}

/** A protocol's metrics as the service lists them, or why they cannot be read. */
type ServiceListing =
  | { readonly kind: 'read'; readonly listed: ListedMetrics }
  | { readonly kind: 'unreadable'; readonly reason: string }

const attemptsMax = 5
const restBaseMs = 250
const askedWaitMsMax = 30_000

/**
 * Asks the service what it has of some protocols: the latest values of each, and what it lists for its key, which may
 * show hours that are missing before. Never rejects.
 */
export async function askService(
  context: AppContext,
  protocolIds: readonly string[],
): Promise<ReadonlyMap<string, ServiceListing>> {
  await using stack = new AsyncDisposableStack()
  const { client, keyOf } = await connect(context, stack)
  const byKey = new Map<string, Promise<ListedMetrics | undefined>>()
  const storedFor = (key: string) => {
    const known = byKey.get(key) ?? untilAnswered(context.time, () => client.stored(key)).then(listedIn)
    byKey.set(key, known)
    return known
  }
  const listings = protocolIds.map(async (id): Promise<[string, ServiceListing]> => {
    try {
      const key = keyOf(id)
      const latest = await untilAnswered(context.time, () => client.latest(id, key))
      return [id, listingFrom(id, latest, await storedFor(key))]
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return [id, { kind: 'unreadable', reason: error.message }]
    }
  })
  return new Map(await Promise.all(listings))
}

/** Asks again after an answer that may pass. */
async function untilAnswered(time: Time, ask: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await ask()
    if (attempt === attemptsMax || !transientOf(answer)) return answer
    const askedMs = answer.kind === 'answered' ? (answer.notBeforeMs ?? 0) - time.nowMs() : 0
    const ownMs = backoffMs({ baseMs: restBaseMs, capMs: restBaseMs * 2 ** attemptsMax }, attempt, time.chance())
    await time.sleep(Math.max(ownMs, Math.min(askedMs, askedWaitMsMax)))
  }
}

function listedIn(answer: Answer): ListedMetrics | undefined {
  return answer.kind === 'answered' && answer.status >= 200 && answer.status < 300
    ? listedMetrics(answer.body)
    : undefined
}

function listingFrom(protocolId: string, latest: Answer, stored: ListedMetrics | undefined): ServiceListing {
  const isOwn = ([id]: readonly [string, unknown]) => id.startsWith(`${protocolId}___`)
  const [newest, all] = [listedIn(latest), new Map([...(stored ?? [])].filter(isOwn))]
  if (newest || all.size > 0) return { kind: 'read', listed: joinedListings(newest ?? new Map(), all) }
  if (latest.kind === 'unanswered') return { kind: 'unreadable', reason: latest.reason }
  // It is not registered yet.
  if (latest.status === 404) return { kind: 'read', listed: new Map() }
  const isAccepted = latest.status >= 200 && latest.status < 300
  const reason = isAccepted ? 'its answer has no list of metrics with timestamps' : `it answered ${latest.status}`
  return { kind: 'unreadable', reason }
}
