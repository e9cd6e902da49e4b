import type { FaultRecord } from '../../../model/fault.ts'
import { type Hour, hourFromNumber } from '../../../model/hour.ts'

/** State of an expected hour. */
export type CollectionState = 'due' | 'collected' | 'gap'

/** An expected (collector, hour) with its state. */
export interface CollectionRow {
  readonly collector: string
  readonly hour: Hour
  readonly state: CollectionState
  /** Failed attempts so far. */
  readonly attempts: number
  /** Fault of the last attempt; absent without one. */
  readonly fault?: FaultRecord
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
  const row = { collector, hour: hourFromNumber(hour), state: hourStateOf(state), attempts }
  return fault === null ? row : { ...row, fault: JSON.parse(fault) as FaultRecord }
}

/** A collector with overdue hours. */
export interface LateCollector {
  readonly collector: string
  /** Number of overdue hours. */
  readonly hours: number
  readonly oldest: Hour
  /** Fault of the oldest; absent when it was not tried yet. */
  readonly fault?: FaultRecord
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
  const late = { collector, hours, oldest: hourFromNumber(oldest) }
  return fault === null ? late : { ...late, fault: JSON.parse(fault) as FaultRecord }
}
