import { hourNumber } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import type { EnqueueMode } from '../contract/hours.ts'
import type { Accepted, DeadLetter, Hold } from '../contract/metrics.ts'
import type { Units } from '../contract/operator-store.ts'
import { type MetricChanges, type MetricPlace, type OutboxRow, placeKey, stateNumber, stateOf } from './changes.ts'
import { rowDigest } from './digest.ts'
import { describedFrom, holdAt, type KnownMetric } from './metrics.ts'

/** Metrics to be enqueued. */
interface EnqueueRequest {
  readonly acceptedValues: readonly Accepted[]
  readonly mode: EnqueueMode
  /** In milliseconds since 1970. */
  readonly nowMs: number
}

/** A metric to be enqueued, and what is known of its id. */
interface EnqueuedValue {
  readonly metric: Metric
  readonly known: KnownMetric
  readonly hold: Hold | undefined
  readonly isPrivate: boolean
  readonly row: OutboxRow
}

/** The metrics of a transaction: what is known of their ids, and what it changes of their rows. */
interface EnqueuedInto {
  /** By metric id; changed where a metric is described in another way. */
  readonly metricsById: Map<string, KnownMetric>
  readonly changes: MetricChanges
  /** Units of stored metrics that are held for theirs, by `placeKey`. */
  readonly heldUnits: ReadonlyMap<number, string | undefined>
}

/** Result of enqueuing metrics of an hour. */
export interface Enqueued {
  /** Number of new metrics. */
  readonly metrics: number
  /** Number of metrics whose value changed. */
  readonly corrected: number
  /** Change of the sum of the rows' digests. */
  readonly digest: number
}

/**
 * Decides on metrics that were collected. The first value of a metric and hour stands, or is corrected; the first value of
 * a metric id locks its unit from that hour on; a value with another unit is held, until it is read in the locked one, or a
 * person decides. Pure but for what it is given.
 *
 * @returns the counts of new and changed metrics, and those that no process can have sent before the commit
 */
export function enqueue(
  target: EnqueuedInto,
  { acceptedValues, mode, nowMs }: EnqueueRequest,
): Enqueued & { readonly unsent: readonly Metric[] } {
  const sum = { metrics: 0, corrected: 0, digest: 0 }
  const unsent: Metric[] = []
  for (const one of acceptedValues) {
    const entry = entryOf(target, one, nowMs)
    const rowBefore = target.changes.at(entry.row)
    if (!rowBefore) {
      enter(target, entry)
      sum.metrics += 1
      sum.digest += digestOf(entry.row)
      // A corrected metric without a value may have been delivered and pruned.
      if (mode === 'first-stands' && !entry.isPrivate) unsent.push(entry.metric)
    } else if (mode === 'correct' && correct(target, entry, rowBefore)) {
      sum.corrected += 1
      sum.digest += digestOf(entry.row) - digestOf(rowBefore)
    }
  }
  return { ...sum, unsent }
}

function entryOf({ metricsById }: EnqueuedInto, acceptedValue: Accepted, nowMs: number): EnqueuedValue {
  const { metric, isPrivate = false } = acceptedValue
  const metricKnown = metricsById.get(metric.id)
  if (!metricKnown) throw new Error(`no metric ${metric.id} is known to the outbox`)
  if (!Number.isFinite(metric.value)) throw new RangeError(`a metric cannot have the value ${metric.value}`)
  const hour = hourNumber(metric.hour)
  const hold = holdAt(metricKnown, hour, metric, acceptedValue.hold)
  const state = stateNumber(hold ? 'held' : stateUnheld(isPrivate))
  const row = { hour, metric: metricKnown.number, protocol: metricKnown.protocol, state }
  // −0 comes back from a store as 0.
  const value = metric.value === 0 ? 0 : metric.value
  return { metric, known: metricKnown, hold, isPrivate, row: { ...row, value, collectedMs: nowMs, deliveredMs: nowMs } }
}

/** The state of a value that nothing holds. */
function stateUnheld(isPrivate: boolean): 'private' | 'due' {
  return isPrivate ? 'private' : 'due'
}

function enter(target: EnqueuedInto, entry: EnqueuedValue): void {
  target.changes.add(entry.row)
  if (entry.hold) detain(target, entry, entry.hold)
  else describeFrom(target, entry)
}

/** @returns whether the value changes, or the unit that it is held for */
function correct(target: EnqueuedInto, entry: EnqueuedValue, rowBefore: OutboxRow): boolean {
  const { row, metric, hold, isPrivate } = entry
  const { changes, heldUnits } = target
  const from = stateOf(rowBefore.state)
  const isPublished = from === 'private' && !isPrivate
  const isHeldForUnit = from === 'held' && heldUnits.has(placeKey(row))
  const isUnitChanged = isHeldForUnit && (hold?.kind !== 'unit' || heldUnits.get(placeKey(row)) !== metric.unit)
  const isChanged = rowBefore.value !== row.value || isPublished || isUnitChanged
  if (!isChanged || from === 'dropped') return false
  // A plausible value in place of one that was not: a person has not seen it yet.
  const isStillHeld = from === 'held' && !isHeldForUnit && !hold
  const to = isStillHeld || hold ? 'held' : stateUnheld(isPrivate)
  changes.replace(rowBefore, row.value, to, row.collectedMs)
  if (isStillHeld) changes.remark(row, `; its value was ${rowBefore.value}, and is ${row.value} now`)
  else changes.free(row)
  if (hold) detain(target, entry, hold)
  if (to !== 'held') describeFrom(target, entry)
  // A held metric is on its way only if it was due before, and is listed then.
  if (isPrivate) changes.settle(row)
  else if (from !== 'held' && from !== 'private') changes.correct(row, row.collectedMs)
  return true
}

function detain({ changes }: EnqueuedInto, { metric, row, isPrivate }: EnqueuedValue, { kind, reason }: Hold): void {
  const unit = kind === 'unit' ? metric.unit : undefined
  changes.detain({ hour: row.hour, metric: row.metric, kind, reason, unit, isPrivate, sinceMs: row.collectedMs })
}

/**
 * Records a module that differs, which it does from no earlier hour than the newest. The unit is the same, unless it was
 * lost: what a later hour has does not matter.
 */
function describeFrom(
  { metricsById, changes }: EnqueuedInto,
  { metric, known: metricKnown, row }: EnqueuedValue,
): void {
  for (const description of describedFrom(metricKnown, row.hour, metric, false)) {
    const others = metricKnown.descriptions.filter(({ since }) => since !== description.since)
    metricsById.set(metric.id, { ...metricKnown, descriptions: [...others, description] })
    changes.describe(metricKnown.number, description)
  }
}

function digestOf({ hour, metric, value }: OutboxRow): number {
  return rowDigest(hour, metric, value)
}

/** A metric that was sent, and what the answer says of it. */
export interface JudgedMetric extends MetricPlace {
  /** The value that was sent. */
  readonly value: number
  /** Why the service refused it; absent when it has it. */
  readonly letter?: DeadLetter
}

/**
 * Decides on metrics that were sent. Metrics in other states than due do not change, nor do those corrected since they were
 * sent.
 *
 * @param corrections keys of those that are listed as corrected
 */
export function judge(
  changes: MetricChanges,
  metrics: readonly JudgedMetric[],
  corrections: ReadonlySet<number>,
  nowMs: number,
): void {
  for (const { hour, metric, value, letter } of metrics) {
    const place = { hour, metric }
    const isCorrected = corrections.has(placeKey(place))
    const row = changes.at(place)
    if (!row || (isCorrected && row.value !== (value === 0 ? 0 : value))) continue
    const isMoved = letter ? changes.move(place, 'due', 'dead') : changes.move(place, 'due', 'delivered', nowMs)
    if (letter && isMoved) {
      const { reason, status, attempts } = letter
      changes.detain({ ...place, kind: 'refused', reason, status, attempts, sinceMs: nowMs })
    }
    // A correction that was held again meanwhile stays listed.
    const isOver = letter ? isMoved : changes.at(place)?.state === stateNumber('delivered')
    if (isCorrected && isOver) changes.settle(place)
  }
}

/** Decision of a person about metrics. */
export interface Decision {
  readonly from: 'dead' | 'held' | 'due' | 'delivered'
  readonly to: 'due' | 'dropped'
}

/** A metric that is decided on. */
export interface DecidedMetric extends MetricPlace {
  /** When it became dead or held, in milliseconds since 1970; absent for another. */
  readonly atMs?: number
  /** Whether it is never sent. Default: no. */
  readonly isPrivate?: boolean
}

/** Decides on the selected metrics that are still in the state. @returns them */
export function decide<T extends DecidedMetric>(
  changes: MetricChanges,
  metrics: readonly T[],
  { from, to }: Decision,
): readonly T[] {
  return metrics.filter(metric => {
    if (!changes.move(metric, from, to === 'due' ? stateUnheld(metric.isPrivate ?? false) : to)) return false
    if (from === 'dead' || from === 'held') changes.free(metric)
    // A dead metric was sent: its value may have changed since, and the old one may still be on its way.
    if (from === 'dead' && to === 'due') changes.correct(metric, metric.atMs ?? 0)
    if (to === 'dropped') changes.settle(metric)
    return true
  })
}

/** Whether a dead or held metric may be made due. */
export function isReleasable(kind: 'refused' | Hold['kind'], units: Units): boolean {
  return kind !== 'unit' || units === 'changed'
}
