import { type Hour, hourText } from '../model/hour.ts'
import { labelCharsAdvised } from '../model/limits.ts'
import { labelOf, type Metric, type MetricId } from '../model/metric.ts'
import type { Past } from '../outbox/tables/metrics.ts'
import type { MetricState } from '../outbox/tables/states.ts'

/** What can be told about a metric before anything is sent. */
export interface Foreseen {
  readonly metric: MetricId
  /** As `warningKind` names what the service says of it. */
  readonly kind: 'label-long' | 'unit-changed' | 'already-exists'
  /** A sentence without the metric's id, so that the same one is told once for many. */
  readonly text: string
}

/** What is known of a metric that is to be sent. */
export interface Sighted extends Pick<Metric, 'id' | 'protocolId' | 'unit'> {
  readonly hour: Hour
  /** Of its id; absent for one that never was in the outbox. */
  readonly past?: Past | undefined
  /** What became of that hour's value; absent when there is none yet. */
  readonly state?: MetricState | undefined
  /** `pinned`: another unit is held. `changed`: a person has allowed it. */
  readonly units: 'pinned' | 'changed'
}

/** What the service would warn about, and what we do about it ourselves. Pure. */
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
  if (units === 'pinned')
    return `${change}: its values are held and not sent; if that is meant, collect once with --allow-unit-change`
  const isSettled = state !== undefined && state !== 'held'
  return `${change}${isSettled ? ' after this hour' : ''}: the service wants one unit for each metric id, and may warn`
}

function again({ state, hour }: Sighted): string | undefined {
  if (state !== 'delivered') return undefined
  return `delivered already for ${hourText(hour)}: the first value stands and is not posted a second time`
}
