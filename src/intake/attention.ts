import { attentionMs } from '../model/limits.ts'

/** Collectors that one turn looks at, and may start: what else happens in the process waits for it. */
const atOnceMax = 250

/**
 * Which collectors a turn looks at: those of which something has changed, and now and then all of them. With a thousand
 * collectors a look at each of them after every run would keep a core busy.
 */
export class Attention {
  readonly #changed = new Set<string>()
  #areAllDue = true
  #isLeft = false
  #lookedMs = 0

  /** Something has become of a collector's hours: a run has ended, or they were planned. */
  changed(id: string): void {
    this.#changed.add(id)
  }

  /** An instant has come that was waited for: it may concern any of them. */
  rested(): void {
    this.#areAllDue = true
  }

  /** Those to be looked at now; with many, the rest is for the turns that follow at once. */
  take<T extends { readonly id: string }>(all: readonly T[], nowMs: number): readonly T[] {
    const areAll = this.#areAllDue || Math.abs(nowMs - this.#lookedMs) >= attentionMs
    if (areAll) for (const { id } of all) this.#changed.add(id)
    this.#areAllDue = false
    if (areAll) this.#lookedMs = nowMs
    const taken = all.filter(({ id }) => this.#changed.has(id)).slice(0, atOnceMax)
    this.#isLeft = this.#changed.size > taken.length && taken.length === atOnceMax
    if (!this.#isLeft) this.#changed.clear()
    for (const { id } of taken) this.#changed.delete(id)
    return taken
  }

  /** Whether there are some that were not taken yet. */
  get isLeft(): boolean {
    return this.#isLeft
  }
}
