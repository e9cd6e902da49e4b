import type { FaultRecord } from '../../model/fault.ts'
import { type Hour, hourFromNumber } from '../../model/hour.ts'

/** What has become of an expected hour. */
export type CollectionState = 'due' | 'collected' | 'gap'

/** What became of an expected hour. */
export interface CollectionRow {
  readonly collector: string
  readonly hour: Hour
  readonly state: CollectionState
  readonly attempts: number
  readonly fault?: FaultRecord
}

/** States of hours, by the number they are stored as. */
const states: readonly CollectionState[] = ['due', 'collected', 'gap']

/** The state a number stands for. */
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

/** The hour that a row stands for. */
export function collectionRow({ collector, hour, state, attempts, fault }: RawHour): CollectionRow {
  const row = { collector, hour: hourFromNumber(hour), state: hourStateOf(state), attempts }
  return fault === null ? row : { ...row, fault: JSON.parse(fault) as FaultRecord }
}

/** A collector with hours that should be there by now. */
export interface LateCollector {
  readonly collector: string
  readonly hours: number
  readonly oldest: Hour
  readonly fault?: FaultRecord
}

/** Late hours as they are stored. */
export interface RawLate {
  readonly collector: string
  readonly hours: number
  readonly oldest: number
  readonly fault: string | null
}

/** The collector that late hours are of. */
export function lateCollector({ collector, hours, oldest, fault }: RawLate): LateCollector {
  const late = { collector, hours, oldest: hourFromNumber(oldest) }
  return fault === null ? late : { ...late, fault: JSON.parse(fault) as FaultRecord }
}
