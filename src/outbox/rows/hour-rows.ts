import { type Fault, type FaultRecord, faultRecord } from '../../model/fault.ts'
import { type Hour, hourFromNumber, hourNumber } from '../../model/hour.ts'
import { jsonOf } from '../../model/json.ts'
import { shortened } from '../../model/text.ts'
import type { FailedAttempt } from '../contract/history.ts'
import type { CollectionRow, CollectionState, DueHour, LateCollector } from '../contract/hours.ts'
import type { UnresolvedCount } from '../contract/status-store.ts'

/** A number later than any hour. */
const latestNumber = 2 ** 40

/** Both ends of a range, in hours since 1970. Default: all hours. */
export function hourBounds(from?: Hour, to?: Hour): [from: number, to: number] {
  return [from === undefined ? 0 : hourNumber(from), to === undefined ? latestNumber : hourNumber(to)]
}

/** States by the number they are stored as. */
const states: readonly CollectionState[] = ['due', 'collected', 'gap']

/** The state of a stored number. */
export function hourStateOf(number: number): CollectionState {
  return states[number] ?? 'due'
}

/** An expected hour as it is stored. */
export interface RawHour {
  readonly collector: string
  readonly hour: number
  readonly state: number
  readonly attempts: number
  readonly fault: string | null
}

/** The expected hour of a stored row. */
export function collectionRow({ collector, hour, state, attempts, fault }: RawHour): CollectionRow {
  return withFault({ collector, hour: hourFromNumber(hour), state: hourStateOf(state), attempts }, fault)
}

/** A due hour of a stored row. */
export function dueHour({ collector, hour, attempts, fault }: Omit<RawHour, 'state'>): DueHour {
  return withFault({ collector, hour: hourFromNumber(hour), attempts }, fault)
}

/** Late hours as they are stored. */
export interface RawLate {
  readonly collector: string
  readonly hours: number
  readonly oldest: number
  readonly fault: string | null
}

/** The collector of a stored row of overdue hours. */
export function lateCollector({ collector, hours, oldest, fault }: RawLate): LateCollector {
  return withFault({ collector, hours, oldest: hourFromNumber(oldest) }, fault)
}

/** Gaps, dead or held metrics of a collector as they are stored. */
export interface RawUnresolved extends Omit<UnresolvedCount, 'hour'> {
  readonly hour: number
  /** Of gaps a fault as JSON. */
  readonly reason: string
}

/** The count of a stored row. */
export function unresolvedCount({ hour, reason, ...row }: RawUnresolved): UnresolvedCount {
  const words = row.kind === 'gap' ? (jsonOf(reason) as FaultRecord).message : reason
  return { ...row, hour: hourFromNumber(hour), reason: words }
}

/** The columns of an hour's fault. */
export function faultColumns(fault: Fault): [fault: string, code: string] {
  return [JSON.stringify(faultRecord(fault)), fault.code]
}

/** Characters kept of all failed attempts of an hour, in the column `failures`, and of the reason of one. */
export const failuresCharsMax = 2_000
const reasonCharsMax = 300

/** A failed attempt as a line of the column `failures`, whose first line is the newest: instant and reason. */
export function failureLine(fault: Fault, atMs: number): string {
  return `${new Date(atMs).toISOString()} ${shortened(fault.message.replace(/\s+/g, ' '), reasonCharsMax)}`
}

/** The failed attempts in a column `failures`. The last line may be cut off, and counts as a whole one if it is readable. */
export function failedAttempts(failures: string | null): FailedAttempt[] {
  const lines = (failures ?? '').split('\n').flatMap(line => {
    const [, instant, reason] = /^(\S+Z) (.+)$/.exec(line) ?? []
    return instant && reason ? [{ atMs: Date.parse(instant), reason }] : []
  })
  return lines.reverse()
}

/** A row with its stored fault, if there is one. */
export function withFault<T extends object>(row: T, fault: string | null): T & { readonly fault?: FaultRecord } {
  return fault === null ? row : { ...row, fault: jsonOf(fault) as FaultRecord }
}
