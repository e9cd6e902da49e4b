import { type Hour, hourAfter, hourAt, hoursFrom, hourText } from '../model/hour.ts'
import { labelOf, type MetricId } from '../model/metric.ts'
import type { EarlierValue, HistoryEntry, HourOfAll } from '../outbox/contract/hours.ts'
import type { MetricState } from '../outbox/contract/metrics.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { Observed } from './sources.ts'

/** Hours of a history. Default of its range. */
export const historyHours = 30 * 24

/** Reasons of hours read at most, the newest first. */
const reasonsMax = 5_000

/** The hours of a metric in a range: by default the last thirty days. */
export interface MetricHistory {
  readonly id: MetricId
  readonly label: string
  readonly protocolId: string
  readonly collector: string
  /** Present when the configuration no longer has its collector. */
  readonly isRemoved?: true
  /** Unit of the newest value; absent when it has none. */
  readonly unit?: string
  readonly nowMs: number
  /** Oldest first, from the first known hour to the current one, without a hole. */
  readonly hours: readonly HistoryHour[]
}

/**
 * One hour of a history. `none`: it was collected, and gave no value of the metric. `unexpected`: nothing is known of it,
 * or it was pruned. `due` without a value: not collected yet.
 */
export interface HistoryHour {
  readonly hour: Hour
  readonly state: MetricState | 'gap' | 'none' | 'unexpected'
  /** Absent without one. */
  readonly value?: number
  /** Unit of the value; absent without one. */
  readonly unit?: string
  /** When the value was first stored, in milliseconds since 1970; absent without a value. */
  readonly collectedMs?: number
  /** When the service accepted it, in milliseconds since 1970; absent unless it is delivered. */
  readonly deliveredMs?: number
  /** Values before a correction, the oldest first; absent without one. */
  readonly earlier?: readonly EarlierValue[]
  /** Why it is not delivered, as a sentence; absent while unknown. */
  readonly reason?: string
}

interface HistoryInput extends Pick<Observed, 'nowMs'> {
  readonly config: Pick<Observed['config'], 'protocols'>
  readonly outbox: Pick<Outbox, 'status' | 'operators'>
  /** Last hour. Default: the current one. */
  readonly to?: Hour | undefined
  /** First hour. Default: 30 days before the last. */
  readonly from?: Hour | undefined
}

/** The hours of a metric in a range; `undefined` when none of its values there is stored. */
export async function metricHistory(input: HistoryInput, metricName: string): Promise<MetricHistory | undefined> {
  const { config, outbox, nowMs } = input
  if (!isMetricId(metricName)) return undefined
  const id = metricName
  const { to = hourAt(nowMs) } = input
  const hours = hoursFrom(input.from ?? hourAfter(to, 1 - historyHours), to)
  const entries = await outbox.operators.history(id, hours[0], hours.at(-1))
  const entryOf = new Map(entries.map(entry => [entry.hour, entry]))
  const newestEntry = [...entryOf.values()].findLast(({ state }) => state !== 'dropped')
  if (!newestEntry) return undefined
  const { collector, protocolId, unit } = newestEntry
  const reasons = await reasonsOf(outbox, newestEntry, hours)
  const looks = await outbox.status.hoursOfAll([collector], hours[0] ?? to, to)
  const allHours = hours.map((hour, place) => historyHour(hour, entryOf.get(hour), looks[place], reasons.get(hour)))
  const isConfigured = config.protocols.some(({ collectors }) => collectors.some(one => one.id === collector))
  return {
    id,
    label: labelOf({ id, protocolId }),
    protocolId,
    collector,
    ...(isConfigured ? {} : { isRemoved: true }),
    ...(unit === undefined ? {} : { unit }),
    nowMs,
    hours: allHours.slice(allHours.findIndex(({ state }) => state !== 'unexpected')),
  }
}

function isMetricId(text: string): text is MetricId {
  return text.includes('___')
}

/** Why hours of the metric are not delivered: its own reasons before those of the collector's hour. */
async function reasonsOf(
  { status, operators }: HistoryInput['outbox'],
  { id, collector }: HistoryEntry,
  hours: readonly Hour[],
): Promise<ReadonlyMap<Hour, string>> {
  const [first, last] = [hours[0], hours.at(-1)]
  if (first === undefined || last === undefined) return new Map()
  const { failed } = await status.reasons(first, last, reasonsMax)
  const ownRows = failed.filter(row => row.collector === collector)
  const deadMetrics = await operators.deadOrHeld({ state: 'dead', ids: [id] })
  const heldMetrics = await operators.deadOrHeld({ state: 'held', ids: [id] })
  return new Map([
    ...ownRows.flatMap(({ hour, fault }) => (fault ? [[hour, fault.message] as const] : [])),
    ...[...deadMetrics, ...heldMetrics]
      .filter(metric => metric.id === id)
      .map(({ hour, reason }) => [hour, reason] as const),
  ])
}

function historyHour(
  hour: Hour,
  entry: HistoryEntry | undefined,
  look: HourOfAll | undefined,
  reason: string | undefined,
): HistoryHour {
  const reasonFields = reason === undefined ? {} : { reason }
  if (entry) {
    const { value, unit, state, collectedMs, deliveredMs, earlier: earlierValues } = entry
    return {
      hour,
      state,
      value,
      ...(unit !== undefined && { unit }),
      collectedMs,
      ...(deliveredMs !== undefined && { deliveredMs }),
      ...(earlierValues.length > 0 && { earlier: earlierValues }),
      ...(state === 'dead' || state === 'held' ? reasonFields : {}),
    }
  }
  const state = look?.stateOf(0)
  if (state === undefined) return { hour, state: 'unexpected' }
  return state === 'collected' ? { hour, state: 'none' } : { hour, state, ...reasonFields }
}

const columns = ['hour', 'value', 'unit', 'state', 'collected', 'delivered', 'corrected', 'before', 'reason']

/**
 * A history as CSV (RFC 4180), the oldest hour first. Instants are to the millisecond; `corrected` is when the value was
 * last replaced, and `before` are the values until then, the oldest first, separated by blanks.
 */
export function historyCsv({ hours }: { readonly hours: readonly HistoryHour[] }): string {
  const rows = hours.map(
    ({ hour, value, unit = '', state, collectedMs, deliveredMs, earlier: earlierValues = [], reason = '' }) => [
      hourText(hour),
      value === undefined ? '' : String(value),
      csvField(unit),
      state,
      instant(collectedMs),
      instant(deliveredMs),
      instant(earlierValues.at(-1)?.untilMs),
      earlierValues.map(one => String(one.value)).join(' '),
      csvField(reason),
    ],
  )
  return [columns, ...rows].map(row => `${row.join(',')}\r\n`).join('')
}

function instant(ms: number | undefined): string {
  return ms === undefined ? '' : new Date(ms).toISOString()
}

/** A text from outside, marked as text where a spreadsheet would take it for a formula. */
export function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
