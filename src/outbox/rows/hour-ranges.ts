import type { FaultRecord } from '../../model/fault.ts'
import { hourFromNumber } from '../../model/hour.ts'
import { jsonOf } from '../../model/json.ts'
import type { CollectorHourRange } from '../contract/hours.ts'
import { withFault } from './hour-rows.ts'

/** An hour of a range, as it is stored. */
export interface HourOfRange {
  readonly collector: string
  /** In hours since 1970. */
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

/** Joins consecutive hours of a collector with the same reason. @param hours by collector and hour */
export function hourRangesOf(hours: Iterable<HourOfRange>): CollectorHourRange[] {
  const ranges: Growing[] = []
  for (const { collector, hour, fault } of hours) {
    const last = ranges.at(-1)
    const follows = last?.collector === collector && last.to + 1 === hour
    if (last && follows && (last.fault === fault || last.kind === kindOf(fault))) last.to = hour
    else ranges.push({ collector, from: hour, to: hour, fault, kind: kindOf(fault) })
  }
  return ranges.map(rangeOf)
}

function rangeOf({ collector, from, to, fault }: Growing): CollectorHourRange {
  return withFault({ collector, from: hourFromNumber(from), to: hourFromNumber(to), hours: to - from + 1 }, fault)
}

/** Kind of a reason: its code, and its words without numbers. */
function kindOf(fault: string | null): string {
  if (fault === null) return ''
  const { code, message } = jsonOf(fault) as FaultRecord
  return `${code} ${message.replace(/\d+/g, '…')}`
}
