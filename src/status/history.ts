import { setImmediate } from 'node:timers/promises'
import { type Hour, hourAfter, hourAt, hoursFrom } from '../model/hour.ts'
import { labelOf, type MetricId } from '../model/metric.ts'
import type { HourOfAll } from '../outbox/contract/hours.ts'
import type { MetricState, StoredMetric, ValueAndState } from '../outbox/contract/metrics.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { Observed } from './observed.ts'

/** Hours of a history, at most. */
export const historyHours = 30 * 24

/** Hours read before the event loop gets a turn. */
const hoursATurn = 96

/** Reasons of hours read at most, the newest first. */
const reasonsMax = 5_000

/** A metric's last thirty days. */
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
  /** Why it is not delivered, as a sentence; absent while unknown. */
  readonly reason?: string
}

/** Input of a history. */
interface HistoryInput extends Pick<Observed, 'nowMs'> {
  readonly config: Pick<Observed['config'], 'protocols'>
  readonly outbox: Pick<Outbox, 'status' | 'operators'>
}

/** The last thirty days of a metric; `undefined` when none of its values is stored. */
export async function metricHistory(input: HistoryInput, asked: string): Promise<MetricHistory | undefined> {
  const { config, outbox, nowMs } = input
  if (!isMetricId(asked)) return undefined
  const id = asked
  const to = hourAt(nowMs)
  const hours = hoursFrom(hourAfter(to, 1 - historyHours), to)
  const stored = await storedOf(outbox, id, hours)
  const newest = await newestOf(outbox, id, hours, stored)
  if (!newest) return undefined
  const { collector, protocolId, unit } = newest
  const reasons = await reasonsOf(outbox, newest, hours)
  const looks = await outbox.status.hoursOfAll([collector], hours[0] ?? to, to)
  const all = hours.map((hour, place) => historyHour(hour, stored[place], looks[place], reasons.get(hour)))
  const isConfigured = config.protocols.some(({ collectors }) => collectors.some(one => one.id === collector))
  return {
    id,
    label: labelOf({ id, protocolId }),
    protocolId,
    collector,
    ...(isConfigured ? {} : { isRemoved: true }),
    ...(unit === undefined ? {} : { unit }),
    nowMs,
    hours: all.slice(all.findIndex(({ state }) => state !== 'unexpected')),
  }
}

function isMetricId(text: string): text is MetricId {
  return text.includes('___')
}

async function storedOf(
  { operators }: HistoryInput['outbox'],
  id: MetricId,
  hours: readonly Hour[],
): Promise<readonly (ValueAndState | undefined)[]> {
  const stored: (ValueAndState | undefined)[] = []
  for (let at = 0; at < hours.length; at += hoursATurn) {
    stored.push(...(await operators.stored(hours.slice(at, at + hoursATurn).map(hour => ({ id, hour })))))
    await setImmediate()
  }
  return stored
}

/** The newest metric that is not dropped: it knows its collector and its unit. */
async function newestOf(
  { operators }: HistoryInput['outbox'],
  id: MetricId,
  hours: readonly Hour[],
  stored: readonly (ValueAndState | undefined)[],
): Promise<StoredMetric | undefined> {
  const hour = hours[stored.findLastIndex(value => value !== undefined && value.state !== 'dropped')]
  if (hour === undefined) return undefined
  return (await operators.metrics(hour, hour)).find(metric => metric.id === id)
}

/** Why hours of the metric are not delivered: its own reasons before those of the collector's hour. */
async function reasonsOf(
  { status, operators }: HistoryInput['outbox'],
  { id, collector }: StoredMetric,
  hours: readonly Hour[],
): Promise<ReadonlyMap<Hour, string>> {
  const [first, last] = [hours[0], hours.at(-1)]
  if (first === undefined || last === undefined) return new Map()
  const { failed } = await status.reasons(first, last, reasonsMax)
  const own = failed.filter(row => row.collector === collector)
  const dead = await operators.deadOrHeld({ state: 'dead', ids: [id] })
  const held = await operators.deadOrHeld({ state: 'held', ids: [id] })
  return new Map([
    ...own.flatMap(({ hour, fault }) => (fault ? [[hour, fault.message] as const] : [])),
    ...[...dead, ...held].filter(metric => metric.id === id).map(({ hour, reason }) => [hour, reason] as const),
  ])
}

function historyHour(
  hour: Hour,
  stored: ValueAndState | undefined,
  look: HourOfAll | undefined,
  reason: string | undefined,
): HistoryHour {
  const why = reason === undefined ? {} : { reason }
  if (stored) return { hour, ...stored, ...(stored.state === 'dead' || stored.state === 'held' ? why : {}) }
  const state = look?.stateOf(0)
  if (state === undefined) return { hour, state: 'unexpected' }
  return state === 'collected' ? { hour, state: 'none' } : { hour, state, ...why }
}
