import { type Hour, hourText } from '../model/hour.ts'
import { labelCharsAdvised } from '../model/limits.ts'
import { labelOf, type Metric, type MetricId } from '../model/metric.ts'
import type { MetricState, Past } from '../outbox/contract/metrics.ts'
import type { Units } from '../outbox/contract/operator-store.ts'

/** A warning that can be given before anything is sent. */
export interface Foreseen {
  readonly metric: MetricId
  /** The kind that `warningKind` gives for the service's words; `event-not-seen` is our own. */
  readonly kind: 'label-long' | 'unit-changed' | 'already-exists' | 'event-not-seen'
  /** A sentence without the metric's id, so that one line can stand for many metrics. */
  readonly text: string
}

/** A metric to be sent, with what is stored of it. */
export interface Sighted extends Pick<Metric, 'id' | 'protocolId' | 'unit'> {
  readonly hour: Hour
  /** Stored values of its id; absent for an id that is not in the outbox. */
  readonly past?: Past | undefined
  /** State of that hour's value; absent when there is none yet. */
  readonly state?: MetricState | undefined
  readonly units: Units
}

/** Predicts the service's warnings, and what we do about them. Pure. */
export function foreseen(metric: Sighted): Foreseen[] {
  const texts = { 'label-long': longLabel(metric), 'unit-changed': otherUnit(metric), 'already-exists': again(metric) }
  return (['label-long', 'unit-changed', 'already-exists'] as const).flatMap(kind => {
    const text = texts[kind]
    return text === undefined ? [] : [{ metric: metric.id, kind, text }]
  })
}

function longLabel(metric: Sighted): string | undefined {
  const { length } = [...labelOf(metric)]
  if (length <= labelCharsAdvised) return undefined
  return `the label has ${length} characters: the service advises ${labelCharsAdvised} at most, and warns`
}

function otherUnit({ unit, past, state, units }: Sighted): string | undefined {
  if (!past || past.unit === unit) return undefined
  const change = `the unit changes from ${past.unit ?? 'none'} to ${unit ?? 'none'}`
  if (units === 'locked')
    return `${change}: its values are held and not sent; if that is meant, collect once with --allow-unit-change`
  const isSettled = state !== undefined && state !== 'held'
  return `${change}${isSettled ? ' after this hour' : ''}: the service wants one unit for each metric id, and may warn`
}

function again({ state, hour }: Sighted): string | undefined {
  if (state !== 'delivered') return undefined
  return `delivered already for ${hourText(hour)}: the first value stands and is not posted a second time`
}
