import { attemptsMax } from '../model/limits.ts'
import type { Attempts } from './push.ts'
import type { Part } from './worklist.ts'

/**
 * Attempts of a flush in which nothing was accepted yet: so many that one push would have, whatever is sent with them. A
 * service that is down gets no more.
 */
export class Tries {
  readonly #max: number
  #count = 0

  /** @param max fewer where it is only looked whether the service is up */
  constructor(max: number = attemptsMax) {
    this.#max = max
  }

  /** Whether nothing has failed yet. */
  get isFirst(): boolean {
    return this.#count === 0
  }

  /** Whether none is left. */
  get areSpent(): boolean {
    return this.#count >= this.#max
  }

  /** Takes as many as a push may need. */
  take(wanted: number): Attempts {
    const failedBefore = this.#count
    const attempts = Math.max(1, Math.min(wanted, this.#max - failedBefore))
    this.#count += attempts
    return { attemptsMax: attempts, failedBefore }
  }

  /** Gives back what was not needed. */
  giveBack(attempts: number): void {
    this.#count -= attempts
  }
}

/** A batch of several protocols is tried once before they are tried apart. */
export function triesOf({ batch, attemptsMax: wanted }: Part): number {
  return batch.some(({ protocolId }) => protocolId !== batch[0].protocolId) ? 1 : wanted
}
