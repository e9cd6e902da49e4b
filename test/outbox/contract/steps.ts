import { Fault } from '../../../src/model/fault.ts'
import { type Hour, hourAfter } from '../../../src/model/hour.ts'
import type { Metric } from '../../../src/model/metric.ts'
import type { CollectionOutcome, CollectionRow, HourPlan, Recorded } from '../../../src/outbox/contract/hours.ts'
import type { Accepted, Balance, DueWanted, Hold } from '../../../src/outbox/contract/metrics.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { emptyAt, type Handles, type NewPlace } from './place.ts'

/** Steps that the tests of the contract share: what intake, delivery and a person do. */

/** The collector of most tests; its metrics are those of `vault`. */
export const collector = 'vault/c'

/** Instant at which most things are recorded. */
export const nowMs = anHour + 60_000

export const tooOld = new Fault('hour-too-old', 'older than the catch-up range')
export const unreachable = new Fault('http-unreachable', 'no answer')

/** A failed run, to be tried again at an instant. */
export const failedUntil = (nextAttemptMs: number) => ({ fault: unreachable, nextAttemptMs })

/** The hour so many hours after `anHour`. */
export const at = (count: number): Hour => hourAfter(anHour, count)

/** The one element of a list. */
export function only<T>(all: readonly T[]): T {
  const [one] = all
  if (one === undefined || all.length > 1) throw new Error(`expected one, not ${all.length}`)
  return one
}

/** Plans a collector. Nothing is too old by default. */
export function plan(outbox: Outbox, parts: Partial<HourPlan> = {}): Promise<number> {
  return outbox.intake.planHours({ collector, current: anHour, oldest: at(-100_000), gapReason: tooOld, ...parts })
}

/** An outbox that expects the hours of `vault/c` from one on, up to another. */
export async function begun(
  newPlace: NewPlace,
  { from = anHour, to = anHour } = {},
): Promise<{ readonly outbox: Outbox; readonly handles: Handles }> {
  const opened = await emptyAt(newPlace)
  await plan(opened.outbox, { current: from })
  await plan(opened.outbox, { current: to })
  return opened
}

/** Records values, with reasons to hold them or without. They make the hour complete. */
export function record(
  outbox: Outbox,
  all: readonly (Metric | Accepted)[],
  more: Partial<CollectionOutcome> = {},
): Promise<Recorded> {
  const accepted = all.map(one => ('metric' in one ? one : { metric: one }))
  const [first] = accepted
  return outbox.intake.record(
    { collector, hour: first?.metric.hour ?? anHour, acceptedValues: accepted, ...more },
    nowMs,
  )
}

/** Replaces values by those of another reading. */
export function correct(outbox: Outbox, all: readonly (Metric | Accepted)[]): Promise<Recorded> {
  return record(outbox, all, { mode: 'correct' })
}

/** The metrics with another value. */
export function changed(all: readonly Metric[], value = 99): Metric[] {
  return all.map(metric => ({ ...metric, value }))
}

export const odd: Hold = { kind: 'bounds', reason: 'odd' }

export function held(all: readonly Metric[], hold = odd): Accepted[] {
  return all.map(metric => ({ metric, hold }))
}

export const everything: DueWanted = { protocolIds: ['vault', 'market'], newestFirstFrom: anHour, latest: at(1_000) }

export function dueOf(outbox: Outbox, wanted: Partial<DueWanted> = {}, limit = 10_000): Promise<readonly Metric[]> {
  return outbox.delivery.due({ ...everything, ...wanted }, limit).then(due => [...due])
}

export function deliver(outbox: Outbox, delivered: readonly Metric[], atMs = nowMs): Promise<void> {
  return outbox.delivery.recordVerdicts({ delivered, dead: [], warnings: [] }, atMs)
}

/** Records that the service rejected metrics for good. */
export function refuse(outbox: Outbox, refused: readonly Metric[], reason = 'no'): Promise<void> {
  const dead = refused.map(metric => ({ metric, reason, status: 400, attempts: 1 }))
  return outbox.delivery.recordVerdicts({ delivered: [], dead, warnings: [] }, nowMs)
}

export async function balanceOf(outbox: Outbox): Promise<Balance> {
  return (await outbox.operators.backlog()).balance
}

/** The expected hours in a range, both ends included. */
export async function hoursOf(outbox: Outbox, from = anHour, to = anHour): Promise<readonly CollectionRow[]> {
  const wanted = { collectors: [], protocolIds: [], destinations: [], hour: to }
  return (await outbox.status.detail(wanted, from, to)).rows
}

/** Value and state of each metric of an hour. */
export async function statesAt(outbox: Outbox, hour: Hour = anHour): Promise<[value: number, state: string][]> {
  return (await outbox.operators.metrics(hour, hour)).map(({ value, state }) => [value, state])
}

/** A metric in each state, by label: due, delivered, dead, held and dropped. */
export async function oneOfEach(outbox: Outbox): Promise<void> {
  const [due, delivered, dead, suspect, dropped] = metrics(5)
  if (!due || !delivered || !dead || !suspect || !dropped) throw new Error('five')
  await record(outbox, [due, delivered, dead, { metric: suspect, hold: odd }, dropped])
  await deliver(outbox, [delivered])
  await refuse(outbox, [dead, dropped], 'refused')
  await outbox.operators.drop({ state: 'dead', ids: [dropped.id] })
}
