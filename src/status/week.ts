import { type Hour, hourAfter, hourAt, hoursFrom } from '../model/hour.ts'
import type { CollectionRow, HourOfAll, HourReasons, WithheldHour } from '../outbox/contract/hours.ts'
import { cellState } from './cell-state.ts'
import type { Observed } from './observed.ts'
import type { HourRun, WeekGrid, WeekRow } from './snapshot.ts'

/** Hours of the week. */
export const weekHours = 7 * 24

/** Reasons read at most, the newest first: an outbox in which everything failed for days has one for each cell. */
const reasonsMax = 5_000

/** The last seven days, as they are shown, and the states of their hours: the configured collectors in their order, then others. */
export interface Week {
  readonly week: WeekGrid
  readonly looks: readonly HourOfAll[]
}

/** The last seven days of all collectors, also of those that were removed from the configuration meanwhile. */
export async function weekOf({ config, outbox, nowMs }: Pick<Observed, 'config' | 'outbox' | 'nowMs'>): Promise<Week> {
  const to = hourAt(nowMs)
  const from = hourAfter(to, 1 - weekHours)
  const hours = hoursFrom(from, to)
  const configured = config.protocols.flatMap(({ collectors }) => collectors)
  const ids = new Set(configured.map(({ id }) => id))
  const removed = (await outbox.status.collectors()).filter(id => !ids.has(id)).map(removedCollector)
  const all = [...configured, ...removed]
  const looks = await outbox.status.hoursOfAll(
    all.map(({ id }) => id),
    from,
    to,
  )
  const reasons = byCell(await outbox.status.reasons(from, to, reasonsMax))
  const rows: WeekRow[] = []
  for (const [place, { id: collector, protocolId }] of all.entries()) {
    const isRemoved = place >= configured.length
    const runs = runsOf(hours, looks, place, hour => reasons.get(cellKey(hour, collector)))
    if (isRemoved && runs.every(({ state }) => state === 'unexpected')) continue
    rows.push({ collector, protocolId, ...(isRemoved && { isRemoved }), runs })
  }
  return { week: { from, to, rows }, looks }
}

/** The protocol is the first part of a collector's id. */
function removedCollector(id: string): { readonly id: string; readonly protocolId: string } {
  return { id, protocolId: id.split('/', 1)[0] ?? id }
}

/** Facts about a cell besides its state. */
interface CellReason {
  readonly failed?: CollectionRow
  readonly withheld?: WithheldHour
}

function cellKey(hour: Hour, collector: string): string {
  return `${hour} ${collector}`
}

function byCell({ failed, withheld }: HourReasons): ReadonlyMap<string, CellReason> {
  const reasons = new Map<string, CellReason>()
  for (const row of failed) reasons.set(cellKey(row.hour, row.collector), { failed: row })
  for (const row of withheld) {
    const key = cellKey(row.hour, row.collector)
    const before = reasons.get(key)
    // Of both, the dead one is shown.
    if (before?.withheld?.state !== 'dead') reasons.set(key, { ...before, withheld: row })
  }
  return reasons
}

function runsOf(
  hours: readonly Hour[],
  looks: readonly HourOfAll[],
  place: number,
  reasonOf: (hour: Hour) => CellReason | undefined,
): HourRun[] {
  const runs: HourRun[] = []
  hours.forEach((hour, index) => {
    const look = looks[index]
    const state = cellState(look?.stateOf(place), wanted => look?.has(place, wanted) ?? false)
    const run = oneHour(hour, state, state === 'delivered' ? undefined : reasonOf(hour))
    const last = runs.at(-1)
    if (last && kindOf(last) === kindOf(run)) runs[runs.length - 1] = joined(last, run)
    else runs.push(run)
  })
  return runs
}

/** A reason counts only for its own state: the rows were read at different instants. */
function oneHour(hour: Hour, state: HourRun['state'], { failed, withheld }: CellReason = {}): HourRun {
  const own = { from: hour, hours: 1, state }
  if (failed?.fault && failed.state === state) return { ...own, attempts: failed.attempts, fault: failed.fault }
  return withheld?.state === state ? { ...own, reason: withheld.reason } : own
}

/** Equal for hours that belong to one run. */
function kindOf({ state, fault, reason }: HourRun): string {
  if (!fault && reason === undefined) return state
  return `${state} ${fault?.code ?? ''} ${(fault?.message ?? reason ?? '').replace(/\d+/g, '0')}`
}

function joined(run: HourRun, next: HourRun): HourRun {
  const attempts = Math.max(run.attempts ?? 0, next.attempts ?? 0)
  return { ...run, ...next, from: run.from, hours: run.hours + 1, ...(attempts > 0 && { attempts }) }
}
