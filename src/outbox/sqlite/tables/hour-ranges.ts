import type { FaultRecord } from '../../../model/fault.ts'
import { hourFromNumber } from '../../../model/hour.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { CollectorHourRange } from '../../contract/hours.ts'
import type { HoursWanted } from '../../contract/operator-store.ts'
import { hourBounds, withFault } from './hour-rows.ts'

interface RawRange {
  readonly collector: string
  readonly hour: number
  readonly fault: string | null
}

/** A range under construction. */
interface Growing {
  readonly collector: string
  readonly from: number
  to: number
  readonly fault: string | null
  readonly kind: string
}

/** Finds ranges of hours that are not collected. */
export class HourRanges {
  readonly #statements

  constructor(database: Sqlite) {
    const prepare = (state: 0 | 2) =>
      database.prepare<[string | null, number, number], RawRange>(
        `SELECT name AS collector, hour, fault FROM collection JOIN collector ON collector.id = collection.collector
         WHERE state = ${state} AND name IN (SELECT value FROM json_each(coalesce(?, (SELECT json_group_array(name) FROM collector))))
           AND hour BETWEEN ? AND ? ORDER BY name, hour`,
      )
    this.#statements = { gap: prepare(2), due: prepare(0) }
  }

  /** As `OperatorStore.hourRanges`. */
  of(state: 'gap' | 'due', { collectors, from, to }: HoursWanted = {}): CollectorHourRange[] {
    const names = collectors ? JSON.stringify(collectors) : null
    const ranges: Growing[] = []
    for (const { collector, hour, fault } of this.#statements[state].iterate(names, ...hourBounds(from, to))) {
      const last = ranges.at(-1)
      const follows = last?.collector === collector && last.to + 1 === hour
      if (last && follows && (last.fault === fault || last.kind === kindOf(fault))) last.to = hour
      else ranges.push({ collector, from: hour, to: hour, fault, kind: kindOf(fault) })
    }
    return ranges.map(rangeOf)
  }
}

function rangeOf({ collector, from, to, fault }: Growing): CollectorHourRange {
  return withFault({ collector, from: hourFromNumber(from), to: hourFromNumber(to), hours: to - from + 1 }, fault)
}

/** Kind of a reason: its code, and its words without numbers. */
function kindOf(fault: string | null): string {
  if (fault === null) return ''
  const { code, message } = JSON.parse(fault) as FaultRecord
  return `${code} ${message.replace(/\d+/g, '…')}`
}
