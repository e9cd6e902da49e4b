import { batchCharsMax, batchRisesAfter, batchRisesAfterMax } from './limits.ts'
import type { WrittenCall } from './wire.ts'

interface BatchBounds {
  readonly calls: number
  readonly chars: number
}

/**
 * Limit of a node's batches, discovered by halving what it refuses. A new limit is kept once a smaller request was
 * answered, so that a node that refuses everything for a while is not asked one call at a time for ever. After some
 * full requests were answered the limit doubles, up to its start value: the refusal may have been an outage.
 */
export class BatchLimit {
  readonly #first: BatchBounds
  #known: BatchBounds
  #tried: BatchBounds
  /** Full requests answered since the limit was last changed, and how many raise it. */
  #answered = 0
  #risesAfter = batchRisesAfter
  /** Whether the limit rose and no request of that size was answered yet. */
  #isTrial = false
  #isProven = false

  /** @param callsMax the first and the highest limit */
  constructor(callsMax: number) {
    this.#first = { calls: callsMax, chars: batchCharsMax }
    this.#known = this.#first
    this.#tried = this.#known
  }

  /** Calls in one request, at most. */
  get callsMax(): number {
    return this.#tried.calls
  }

  /** Whether several calls in one request were ever answered. */
  get isProven(): boolean {
    return this.#isProven
  }

  /** Number of calls, from the first on, that fit into one request: at least one. */
  fitting(calls: readonly WrittenCall[]): number {
    let chars = 0
    const end = calls.findIndex(({ text }, index) => {
      chars += text.length
      return index > 0 && (index >= this.#tried.calls || chars > this.#tried.chars)
    })
    return end === -1 ? calls.length : end
  }

  /** Records that the node refused these calls (at least two) in one request: half of them are tried next. */
  refused(calls: readonly WrittenCall[], because: 'calls' | 'chars'): void {
    const { calls: callsMax, chars: charsMax } = this.#tried
    if (because === 'chars') {
      this.#tried = { calls: callsMax, chars: Math.min(charsMax, Math.ceil(charsOf(calls) / 2)) }
    } else this.#tried = { calls: Math.min(callsMax, Math.ceil(calls.length / 2)), chars: charsMax }
    this.#answered = 0
    // A node that refuses the raised limit has one: it is raised less and less often.
    if (this.#isTrial) this.#risesAfter = Math.min(this.#risesAfter * 2, batchRisesAfterMax)
    this.#isTrial = false
  }

  /** Records that the node answered a request with results, not only errors: the tried limit is kept. */
  answered(calls: readonly WrittenCall[]): void {
    if (calls.length > 1) this.#isProven = true
    this.#known = this.#tried
    if (this.#isAtMost || !this.#isFull(calls)) return
    this.#answered += 1
    // A rise that was answered is followed by the next at once.
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

  /** Whether the request was as large as the limit allows: a smaller one says nothing about a higher limit. */
  #isFull(calls: readonly WrittenCall[]): boolean {
    return calls.length >= this.#known.calls || charsOf(calls) * 2 > this.#known.chars
  }

  /** Discards a limit that was tried and never answered. */
  forgetTried(): void {
    this.#tried = this.#known
  }
}

function charsOf(calls: readonly WrittenCall[]): number {
  return calls.reduce((sum, { text }) => sum + text.length, 0)
}
