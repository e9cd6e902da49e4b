import type { FaultRecord } from '../../../model/fault.ts'
import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { CollectorHourRange } from '../../contract/hours.ts'

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

const forever = 2 ** 40

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

  /**
   * Ranges of hours in one state, by collector and hour; default: all collectors and times. Reasons that differ only in
   * numbers count as the same.
   */
  of(state: 'gap' | 'due', collectors?: readonly string[], from?: Hour, to?: Hour): CollectorHourRange[] {
    const names = collectors ? JSON.stringify(collectors) : null
    const bounds = [from === undefined ? 0 : hourNumber(from), to === undefined ? forever : hourNumber(to)] as const
    const ranges: Growing[] = []
    for (const { collector, hour, fault } of this.#statements[state].iterate(names, ...bounds)) {
      const last = ranges.at(-1)
      const follows = last?.collector === collector && last.to + 1 === hour
      if (last && follows && (last.fault === fault || last.kind === kindOf(fault))) last.to = hour
      else ranges.push({ collector, from: hour, to: hour, fault, kind: kindOf(fault) })
    }
    return ranges.map(rangeOf)
  }
}

function rangeOf({ collector, from, to, fault }: Growing): CollectorHourRange {
  const range = { collector, from: hourFromNumber(from), to: hourFromNumber(to), hours: to - from + 1 }
  return fault === null ? range : { ...range, fault: JSON.parse(fault) as FaultRecord }
}

/** Kind of a reason: its code, and its words without numbers. */
function kindOf(fault: string | null): string {
  if (fault === null) return ''
  const { code, message } = JSON.parse(fault) as FaultRecord
  return `${code} ${message.replace(/\d+/g, '…')}`
}
