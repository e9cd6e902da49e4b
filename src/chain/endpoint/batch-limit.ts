import { batchCharsMax } from '../limits.ts'
import type { WrittenCall } from './wire.ts'

interface Bounds {
  readonly calls: number
  readonly chars: number
}

/**
 * How much a node takes in one request, found out by halving what it refuses. What was found is kept once a smaller
 * request was answered: a node that refuses everything for a while is not asked one by one for ever.
 */
export class BatchLimit {
  #known: Bounds
  #tried: Bounds

  /** @param callsMax to begin with, and at most */
  constructor(callsMax: number) {
    this.#known = { calls: callsMax, chars: batchCharsMax }
    this.#tried = this.#known
  }

  /** Calls in one request. */
  get callsMax(): number {
    return this.#tried.calls
  }

  /** How many of the calls, from the first on, fit into one request: at least one. */
  fitting(calls: readonly WrittenCall[]): number {
    let chars = 0
    const end = calls.findIndex(({ text }, index) => {
      chars += text.length
      return index > 0 && (index >= this.#tried.calls || chars > this.#tried.chars)
    })
    return end === -1 ? calls.length : end
  }

  /** The node refused these calls in one request, at least two: for as long as it is not known better, half of them. */
  refused(calls: readonly WrittenCall[], because: 'calls' | 'chars'): void {
    const { calls: callsMax, chars: charsMax } = this.#tried
    if (because === 'chars') {
      const chars = calls.reduce((sum, { text }) => sum + text.length, 0)
      this.#tried = { calls: callsMax, chars: Math.min(charsMax, Math.ceil(chars / 2)) }
    } else this.#tried = { calls: Math.min(callsMax, Math.ceil(calls.length / 2)), chars: charsMax }
  }

  /** The node answered a request with results, not with errors alone: what was tried is known from now on. */
  answered(): void {
    this.#known = this.#tried
  }

  /** What was tried and never answered is forgotten. */
  forgetTried(): void {
    this.#tried = this.#known
  }
}
