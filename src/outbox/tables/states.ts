import { DamageError } from '../../sqlite/damage.ts'

/** States of a metric in the outbox, by the number they are stored as. */
export const metricStates = ['due', 'delivered', 'dead', 'held', 'dropped'] as const

/**
 * `due`: to be pushed. `delivered`: the service has it. `dead`: the service will never take it. `held`: waits for a
 * person. `dropped`: a person gave it up; its row stays for a while, so that it does not come back.
 */
export type MetricState = (typeof metricStates)[number]

/** What a state is stored as. */
export function stateNumber(state: MetricState): number {
  return metricStates.indexOf(state)
}

/** The state a number stands for. */
export function stateOf(number: number): MetricState {
  const state = metricStates[number]
  if (state === undefined) throw new DamageError(`no state of a metric has the number ${number}`)
  return state
}
