import { setImmediate } from 'node:timers/promises'
import { hourAfter, hourAt, hoursFrom } from '../model/hour.ts'
import { cellState } from './cell-state.ts'
import { shownHours } from './observe.ts'
import type { Observed } from './observed.ts'
import type { CellState, HourCell, HourGrid } from './snapshot.ts'

/** Collectors whose cells are made before the event loop gets a turn. */
const collectorsATurn = 250

/** The states of the hours shown, without attempts and faults: no delivered metric's row is read. */
export async function hourStates({ config, outbox, nowMs }: Observed): Promise<HourGrid> {
  const current = hourAt(nowMs)
  const hours = hoursFrom(hourAfter(current, 1 - shownHours), current)
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  const ids = collectors.map(({ id }) => id)
  const looks = await outbox.status.hoursOfAll(ids, hourAfter(current, 1 - shownHours), current)
  await setImmediate()
  const rows: HourGrid['rows'][number][] = []
  for (const [place, { id: collector, protocolId }] of collectors.entries()) {
    if (place % collectorsATurn === collectorsATurn - 1) await setImmediate()
    const own = looks.map(hour => cells[cellState(hour.stateOf(place), state => hour.has(place, state))])
    rows.push({ collector, protocolId, cells: own })
  }
  await setImmediate()
  return { hours, rows }
}

const cells: Readonly<Record<CellState, HourCell>> = {
  due: { state: 'due', attempts: 0 },
  collected: { state: 'collected', attempts: 0 },
  delivered: { state: 'delivered', attempts: 0 },
  gap: { state: 'gap', attempts: 0 },
  dead: { state: 'dead', attempts: 0 },
  held: { state: 'held', attempts: 0 },
  unexpected: { state: 'unexpected', attempts: 0 },
}
