import type { Time } from '../../edge/time.ts'
import { stateMissedMs } from '../limits.ts'

interface Missed {
  /** The highest block. */
  readonly number: bigint
  readonly atMs: number
  /** The highest block of which the node said so itself. */
  readonly toldNumber: bigint | undefined
}

/** How far back an endpoint has the state of blocks, as far as it was seen: a node that prunes has only the last ones. */
export class StateDepth {
  readonly #time: Time
  #missed: Missed | undefined
  #lowestServed: bigint | undefined

  constructor(time: Time) {
    this.#time = time
  }

  /** It answered from the state of a block. */
  served(number: bigint): void {
    if (this.#lowestServed === undefined || number < this.#lowestServed) this.#lowestServed = number
    if (this.#missed && number <= this.#missed.number) this.#missed = undefined
  }

  /** It does not have the state of a block, nor, then, of those before. @param isTold whether it says that this is why */
  missed(number: bigint, isTold: boolean): void {
    const highest = higher(this.#missed?.number, number)
    const told = this.#missed?.toldNumber
    this.#missed = { number: highest, atMs: this.#time.nowMs(), toldNumber: isTold ? higher(told, number) : told }
    if (this.#lowestServed !== undefined && this.#lowestServed <= highest) this.#lowestServed = undefined
  }

  /** Whether it is known not to have the state of a block. It is tried again after a while. */
  lacks(number: bigint): boolean {
    return this.#isKnown && this.#missed !== undefined && number <= this.#missed.number
  }

  /** The same where the node said so itself, of this block or a later one. */
  toldToLack(number: bigint): boolean {
    const told = this.#missed?.toldNumber
    return this.#isKnown && told !== undefined && number <= told
  }

  get #isKnown(): boolean {
    return this.#missed !== undefined && this.#time.nowMs() - this.#missed.atMs < stateMissedMs
  }

  /** The lowest block whose state it is known to have, or the one after the highest that it lacks. */
  get servesFrom(): bigint | undefined {
    return this.#lowestServed ?? (this.#missed && this.#missed.number + 1n)
  }
}

const higher = (a: bigint | undefined, b: bigint) => (a !== undefined && a > b ? a : b)
