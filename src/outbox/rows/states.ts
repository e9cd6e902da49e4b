import { DamageError } from '../../sqlite/damage.ts'
import type { MetricState } from '../contract/metrics.ts'

/** States of a metric in the outbox, by the number they are stored as. */
export const metricStates = ['due', 'delivered', 'dead', 'held', 'dropped'] as const

/** The stored number of a state. */
export function stateNumber(state: MetricState): number {
  return metricStates.indexOf(state)
}

/** The state of a stored number. */
export function stateOf(number: number): MetricState {
  const state = metricStates[number]
  if (state === undefined) throw new DamageError(`no state of a metric has the number ${number}`)
  return state
}
