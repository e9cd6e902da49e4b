import type { FaultRecord } from '../model/fault.ts'
import { hourFromNumber } from '../model/hour.ts'
import type { CollectionRow } from './collections.ts'

/** What has become of an expected hour. */
export type HourState = 'due' | 'collected' | 'gap'

/** States of hours, by the number they are stored as. */
const states: readonly HourState[] = ['due', 'collected', 'gap']

/** The state a number stands for. */
export function hourStateOf(number: number): HourState {
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
