import { hourAfter, hourAt, hoursFrom } from '../model/hour.ts'
import { cellState } from './cell-state.ts'
import { shownHours } from './observe.ts'
import type { Observed } from './observed.ts'
import type { HourGrid } from './snapshot.ts'

/** The states of the hours shown, without attempts and faults: no delivered metric's row is read. */
export async function hourStates({ config, outbox, nowMs }: Observed): Promise<HourGrid> {
  const current = hourAt(nowMs)
  const hours = hoursFrom(hourAfter(current, 1 - shownHours), current)
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  const ids = collectors.map(({ id }) => id)
  const states = await outbox.status.hoursOfAll(ids, hourAfter(current, 1 - shownHours), current)
  const rows = collectors.map(({ id: collector, protocolId }, place) => ({
    collector,
    protocolId,
    cells: states.map(hour => ({
      state: cellState(hour.stateOf(place), state => hour.has(place, state)),
      attempts: 0,
    })),
  }))
  return { hours, rows }
}
