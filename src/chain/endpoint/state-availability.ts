import type { Time } from '../../edge/time.ts'
import { stateMissedMs } from './limits.ts'

interface Missed {
  /** The highest block. */
  readonly number: bigint
  readonly atMs: number
}

/** Range of blocks whose state an endpoint has, as observed: a pruning node has only the latest. */
export class StateAvailability {
  readonly #time: Time
  #missed: Missed | undefined
  #lowestServed: bigint | undefined

  constructor(time: Time) {
    this.#time = time
  }

  /** Records an answer from the state of a block. */
  served(number: bigint): void {
    if (this.#lowestServed === undefined || number < this.#lowestServed) this.#lowestServed = number
    if (this.#missed && number <= this.#missed.number) this.#missed = undefined
  }

  /** Records that the state of a block, and of all before it, is missing. */
  missed(number: bigint): void {
    const before = this.#missed?.number
    const highest = before !== undefined && before > number ? before : number
    this.#missed = { number: highest, atMs: this.#time.nowMs() }
    if (this.#lowestServed !== undefined && this.#lowestServed <= highest) this.#lowestServed = undefined
  }

  /** Whether it is known to lack the state of a block. After a while it is asked again. */
  lacks(number: bigint): boolean {
    if (this.#missed === undefined || this.#time.nowMs() - this.#missed.atMs >= stateMissedMs) return false
    return number <= this.#missed.number
  }

  /** The lowest block whose state it is known to have, else the one after the highest that it lacks. */
  get servesFrom(): bigint | undefined {
    return this.#lowestServed ?? (this.#missed && this.#missed.number + 1n)
  }
}
