import type { FaultRecord } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { CellState, HourGrid } from '../snapshot.ts'

/** Hours of one collector that failed in the same way. */
export interface HourTrouble {
  readonly collector: string
  readonly state: CellState
  /** Number of hours. */
  readonly count: number
  /** First hour of the run. */
  readonly first: Hour
  /** Last hour of the run, included. */
  readonly last: Hour
  /** Fault of the newest hour. */
  readonly fault: FaultRecord
}

/** The troubles in the grid, those with the newest hour first. */
export function troublesOf(grid: HourGrid): HourTrouble[] {
  const byKind = new Map<string, HourTrouble>()
  for (const { collector, cells } of grid.rows) {
    cells.forEach((cell, index) => {
      const hour = grid.hours[index]
      if (!cell.fault || hour === undefined) return
      const kind = JSON.stringify([collector, cell.state, cell.fault.code, cell.fault.message])
      const before = byKind.get(kind)
      byKind.set(kind, {
        collector,
        state: cell.state,
        count: (before?.count ?? 0) + 1,
        first: before?.first ?? hour,
        last: hour,
        fault: cell.fault,
      })
    })
  }
  return [...byKind.values()].sort((a, b) => b.last - a.last)
}
