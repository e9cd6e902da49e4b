import { DamageError } from '../../../sqlite/damage.ts'

/** States of a metric in the outbox, by the number they are stored as. */
export const metricStates = ['due', 'delivered', 'dead', 'held', 'dropped'] as const

/**
 * `due`: to be pushed. `delivered`: the service has it. `dead`: the service rejected it for good. `held`: implausible,
 * waits for a person. `dropped`: given up by a person; the row stays for a while, so that the metric is not collected
 * again.
 */
export type MetricState = (typeof metricStates)[number]

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
