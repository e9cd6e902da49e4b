import type { FaultRecord } from '../../model/fault.ts'
import { type Hour, hourAfter } from '../../model/hour.ts'
import { commandLine } from '../../model/text.ts'
import type { WeekGrid } from '../snapshot.ts'
import { type CellLook, lookOf } from './cell.ts'
import { isTrouble } from './strip.ts'

/** Hours of one collector that failed in the same way. */
export interface HourTrouble {
  readonly collector: string
  readonly look: CellLook
  /** Number of hours. */
  readonly count: number
  /** First hour of the run. */
  readonly first: Hour
  /** Last hour of the run, included. */
  readonly last: Hour
  /** Why, as a sentence; absent while unknown. */
  readonly message?: string
  readonly facts: FaultRecord['facts']
  /** Remedy; absent without one. */
  readonly fix?: string
}

/** Commands for metrics that wait for a person. */
const fixes: Partial<Readonly<Record<CellLook, (named: string | undefined) => string>>> = {
  dead: named => `${commandLine('dead ls', named)} lists them; dead retry sends them again, dead drop gives them up`,
  held: named => `${commandLine('held ls', named)} lists them; held release sends them, held drop gives them up`,
}

/** The troubles in the grid, those with the newest hour first. @param named as `ConfigurationState.named` */
export function troublesOf({ rows }: Pick<WeekGrid, 'rows'>, named?: string): HourTrouble[] {
  const byKind = new Map<string, HourTrouble>()
  for (const { collector, runs, isRemoved } of rows) {
    for (const run of runs) {
      const look = lookOf(run)
      if (!isTrouble(look)) continue
      const message = run.fault?.message ?? run.reason
      // The fault of a collector that was removed needs no remedy; its metrics may still wait for a person.
      const fix = (isRemoved ? undefined : run.fault?.fix) ?? fixes[look]?.(named)
      const kind = JSON.stringify([collector, look, run.fault?.code, message])
      const before = byKind.get(kind)
      byKind.set(kind, {
        collector,
        look,
        count: (before?.count ?? 0) + run.hours,
        first: before?.first ?? run.from,
        last: hourAfter(run.from, run.hours - 1),
        facts: run.fault?.facts ?? {},
        ...(message === undefined ? {} : { message }),
        ...(fix === undefined ? {} : { fix }),
      })
    }
  }
  return [...byKind.values()].sort((a, b) => b.last - a.last)
}
