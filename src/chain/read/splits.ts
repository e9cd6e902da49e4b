import type { Endpoint } from '../endpoint/endpoint.ts'
import { splitUsesMax } from './limits.ts'
import type { AggregateCall } from './written-aggregate.ts'

/**
 * Remembers which lists of reads were too much for an endpoint, so that the next hour starts with their halves. Now and
 * then the whole is tried again, as a busy node may have recovered.
 */
export class Splits {
  readonly #usesLeft = new WeakMap<AggregateCall, WeakMap<Endpoint, number>>()

  /** Whether to start with the halves. Counts as a use. */
  take(call: AggregateCall, endpoint: Endpoint): boolean {
    const ofCall = this.#usesLeft.get(call)
    const left = ofCall?.get(endpoint) ?? 0
    ofCall?.set(endpoint, left - 1)
    return left > 0
  }

  /** Records that a list was too much as a whole. */
  remember(call: AggregateCall, endpoint: Endpoint): void {
    const ofCall = this.#usesLeft.get(call) ?? new WeakMap<Endpoint, number>()
    this.#usesLeft.set(call, ofCall.set(endpoint, splitUsesMax))
  }
}
