import { batchCharsMax, batchRisesAfter, batchRisesAfterMax } from '../limits.ts'
import type { WrittenCall } from './wire.ts'

interface BatchBounds {
  readonly calls: number
  readonly chars: number
}

/**
 * How much a node takes in one request, found out by halving what it refuses. What was found is kept once a smaller
 * request was answered: a node that refuses everything for a while is not asked one by one for ever. After some full
 * requests were answered it doubles again, up to what it began with: a refusal may have been an outage.
 */
export class BatchLimit {
  readonly #first: BatchBounds
  #known: BatchBounds
  #tried: BatchBounds
  /** Full requests that were answered since the limit was last changed, and how many let it rise. */
  #answered = 0
  #risesAfter = batchRisesAfter
  /** Whether it rose, and nothing of that size was answered yet. */
  #isTrial = false

  /** @param callsMax to begin with, and at most */
  constructor(callsMax: number) {
    this.#first = { calls: callsMax, chars: batchCharsMax }
    this.#known = this.#first
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
      this.#tried = { calls: callsMax, chars: Math.min(charsMax, Math.ceil(charsOf(calls) / 2)) }
    } else this.#tried = { calls: Math.min(callsMax, Math.ceil(calls.length / 2)), chars: charsMax }
    this.#answered = 0
    // A node that refuses the larger one again has a limit: that is tried less and less often.
    if (this.#isTrial) this.#risesAfter = Math.min(this.#risesAfter * 2, batchRisesAfterMax)
    this.#isTrial = false
  }

  /** The node answered a request with results, not with errors alone: what was tried is known from now on. */
  answered(calls: readonly WrittenCall[]): void {
    this.#known = this.#tried
    if (this.#isAtMost || !this.#isFull(calls)) return
    this.#answered++
    // One rise that was answered is followed by the next at once.
    if (!this.#isTrial && this.#answered < this.#risesAfter) return
    this.#answered = 0
    this.#isTrial = true
    const { calls: callsMax, chars: charsMax } = this.#known
    this.#known = { calls: Math.min(callsMax * 2, this.#first.calls), chars: Math.min(charsMax * 2, this.#first.chars) }
    this.#tried = this.#known
  }

  get #isAtMost(): boolean {
    return this.#known.calls === this.#first.calls && this.#known.chars === this.#first.chars
  }

  /** Whether the request was as large as the limit lets it be: a smaller one tells nothing of a higher limit. */
  #isFull(calls: readonly WrittenCall[]): boolean {
    return calls.length >= this.#known.calls || charsOf(calls) * 2 > this.#known.chars
  }

  /** What was tried and never answered is forgotten. */
  forgetTried(): void {
    this.#tried = this.#known
  }
}

function charsOf(calls: readonly WrittenCall[]): number {
  return calls.reduce((sum, { text }) => sum + text.length, 0)
}
