import type { Time } from '../../edge/time.ts'
import { stateMissedMs } from './limits.ts'

interface Missed {
  /** The highest block. */
  readonly number: bigint
  readonly atMs: number
  /** Highest block whose state the node itself reported missing. */
  readonly reportedNumber: bigint | undefined
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

  /**
   * Records that the state of a block, and of all before it, is missing.
   * @param isReported whether the node itself says so
   */
  missed(number: bigint, isReported: boolean): void {
    const highest = higher(this.#missed?.number, number)
    const reported = this.#missed?.reportedNumber
    this.#missed = {
      number: highest,
      atMs: this.#time.nowMs(),
      reportedNumber: isReported ? higher(reported, number) : reported,
    }
    if (this.#lowestServed !== undefined && this.#lowestServed <= highest) this.#lowestServed = undefined
  }

  /** Whether it is known to lack the state of a block. After a while it is asked again. */
  lacks(number: bigint): boolean {
    return this.#isKnown && this.#missed !== undefined && number <= this.#missed.number
  }

  /** Whether the node itself reported the state of this block, or of a later one, missing. */
  reportedToLack(number: bigint): boolean {
    const reported = this.#missed?.reportedNumber
    return this.#isKnown && reported !== undefined && number <= reported
  }

  get #isKnown(): boolean {
    return this.#missed !== undefined && this.#time.nowMs() - this.#missed.atMs < stateMissedMs
  }

  /** The lowest block whose state it is known to have, else the one after the highest that it lacks. */
  get servesFrom(): bigint | undefined {
    return this.#lowestServed ?? (this.#missed && this.#missed.number + 1n)
  }
}

const higher = (a: bigint | undefined, b: bigint) => (a !== undefined && a > b ? a : b)
