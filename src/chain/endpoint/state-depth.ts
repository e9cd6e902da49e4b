import type { Time } from '../../time.ts'
import { stateMissedMs } from '../limits.ts'

/** How far back an endpoint has the state of blocks, as far as it was seen: a node that prunes has only the last ones. */
export class StateDepth {
  readonly #time: Time
  #missed: { readonly number: bigint; readonly atMs: number } | undefined
  #lowestServed: bigint | undefined

  constructor(time: Time) {
    this.#time = time
  }

  /** It answered from the state of a block. */
  served(number: bigint): void {
    if (this.#lowestServed === undefined || number < this.#lowestServed) this.#lowestServed = number
    if (this.#missed && number <= this.#missed.number) this.#missed = undefined
  }

  /** It does not have the state of a block, nor, then, of those before. */
  missed(number: bigint): void {
    const highest = this.#missed && this.#missed.number > number ? this.#missed.number : number
    this.#missed = { number: highest, atMs: this.#time.nowMs() }
    if (this.#lowestServed !== undefined && this.#lowestServed <= highest) this.#lowestServed = undefined
  }

  /** Whether it is known not to have the state of a block. It is tried again after a while. */
  lacks(number: bigint): boolean {
    const isKnown = this.#missed && this.#time.nowMs() - this.#missed.atMs < stateMissedMs
    return Boolean(isKnown && this.#missed && number <= this.#missed.number)
  }

  /** The lowest block whose state it is known to have, or the one after the highest that it lacks. */
  get servesFrom(): bigint | undefined {
    return this.#lowestServed ?? (this.#missed && this.#missed.number + 1n)
  }
}
