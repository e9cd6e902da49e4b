import type { FaultRecord } from '../../../model/fault.ts'
import { hourFromNumber } from '../../../model/hour.ts'
import type { CollectionRow, CollectionState, LateCollector } from '../../contract/hours.ts'

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
