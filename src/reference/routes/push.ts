import { hourAt } from '../../model/hour.ts'
import { parseIsoInstant } from '../../model/iso-instant.ts'
import { futureMsMax, labelCharsAdvised } from '../../model/limits.ts'
import type { Push, SubmittedMetric } from '../../model/wire.ts'
import type { StoredKey } from '../store/keys.ts'
import { isOpenTo, type Protocol } from '../store/protocols.ts'
import type { NewValue } from '../store/values.ts'
import { instantText } from './instant-text.ts'
import { type RefusalRemark, ServiceRefusal } from './refusal.ts'

export type ParseInstant = typeof parseIsoInstant

/** `parseIsoInstant` for one push: most timestamps of a push are equal, and are parsed once. */
export function parseInstantOnce(): ParseInstant {
  const parsed = new Map<string, number | undefined>()
  return text => {
    if (!parsed.has(text)) parsed.set(text, parseIsoInstant(text))
    return parsed.get(text)
  }
}

/** Timestamps too far ahead in an unvalidated body, so that metrics with other mistakes are included. */
export function timestampsAhead(body: unknown, nowMs: number, parse: ParseInstant): RefusalRemark[] {
  const untilMs = nowMs + futureMsMax
  return sentMetrics(body).flatMap((metric, index) => {
    if (typeof metric.timestamp !== 'string' || !((parse(metric.timestamp) ?? 0) > untilMs)) return []
    const message = `more than 5 minutes ahead of the service's clock, which says ${instantText(nowMs)}`
    return [{ index, ...idOf(metric), field: 'timestamp', message }]
  })
}

/** Remarks in the order of the metrics, each with the id that was sent, for clients that match by id. */
export function withMetricIds(remarks: readonly RefusalRemark[], body: unknown): RefusalRemark[] {
  const metrics = sentMetrics(body)
  const ordered = remarks.toSorted((one, other) => (one.index ?? -1) - (other.index ?? -1))
  return ordered.map(({ index, ...rest }) => (index === undefined ? rest : { index, ...idOf(metrics[index]), ...rest }))
}

interface SentMetric {
  readonly id?: unknown
  readonly timestamp?: unknown
}

function sentMetrics(body: unknown): SentMetric[] {
  const metrics = typeof body === 'object' && body !== null && 'metrics' in body ? body.metrics : []
  return Array.isArray(metrics)
    ? metrics.map(metric => (typeof metric === 'object' && metric !== null ? metric : {}))
    : []
}

function idOf(metric: SentMetric | undefined): { id?: string } {
  return typeof metric?.id === 'string' ? { id: metric.id } : {}
}

/** A metric and the protocol it may be written to. */
export interface Addressed {
  readonly metric: SubmittedMetric
  readonly protocol: Protocol
}

/**
 * Finds the protocol of each metric.
 *
 * @throws Refusal 404 that names every metric whose protocol is not registered or not open to the key
 */
export function addressed(push: Push, find: (id: string) => Protocol | undefined, key: StoredKey): Addressed[] {
  const protocols = new Map<string, Protocol | undefined>()
  const remarks: RefusalRemark[] = []
  const found = push.metrics.flatMap((metric, index) => {
    const { id, protocolId } = metric
    if (!protocols.has(protocolId)) protocols.set(protocolId, find(protocolId))
    const protocol = protocols.get(protocolId)
    if (protocol && isOpenTo(protocol, key)) return { metric, protocol }
    remarks.push({ index, id, field: 'protocolId', message: notFound(protocolId) })
    return []
  })
  if (remarks.length > 0) throw new ServiceRefusal(404, remarks[0]?.message ?? '', remarks)
  return found
}

function notFound(protocolId: string): string {
  return `no protocol "${protocolId}" that this key may write: register it first, or use the key that owns it`
}

/** The rows of a valid push, with default module and timestamp. */
export function valuesOf(metrics: readonly Addressed[], nowMs: number, parse: ParseInstant): NewValue[] {
  const startOfHourMs = hourAt(nowMs)
  return metrics.map(({ metric: { id, value, unit, module = 'protocol', timestamp }, protocol }) => {
    const atMs = (timestamp === undefined ? undefined : parse(timestamp)) ?? startOfHourMs
    return { protocolNo: protocol.no, id, atMs, value, unit, module }
  })
}

/** Warnings on a stored push: long labels, and metrics that existed (by their index in the push). */
export function warningsOf(push: Push, updated: readonly number[]): RefusalRemark[] {
  const existed = new Set(updated)
  return push.metrics.flatMap((metric, index) => [
    ...labelWarning(metric, index),
    ...(existed.has(index)
      ? [{ index, id: metric.id, message: 'existed with this timestamp: its value was updated' }]
      : []),
  ])
}

function labelWarning({ id, protocolId }: SubmittedMetric, index: number): RefusalRemark[] {
  const label = id.slice(protocolId.length + 3)
  const chars = label.length <= labelCharsAdvised ? label.length : [...label].length
  if (chars <= labelCharsAdvised) return []
  return [
    { index, id, field: 'id', message: `label of ${chars} characters: ${labelCharsAdvised} or fewer are advised` },
  ]
}
