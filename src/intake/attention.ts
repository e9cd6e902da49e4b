import { attentionMs } from '../model/limits.ts'

/**
 * Which collectors a turn looks at: those of which something has changed, and now and then all of them. With a thousand
 * collectors a look at each of them after every run would keep a core busy.
 */
export class Attention {
  readonly #changed = new Set<string>()
  #areAllDue = true
  #lookedMs = 0

  /** Something has become of a collector's hours: a run has ended, or they were planned. */
  changed(id: string): void {
    this.#changed.add(id)
  }

  /** An instant has come that was waited for: it may concern any of them. */
  rested(): void {
    this.#areAllDue = true
  }

  /** Those to be looked at now. */
  take<T extends { readonly id: string }>(all: readonly T[], nowMs: number): readonly T[] {
    const areAll = this.#areAllDue || Math.abs(nowMs - this.#lookedMs) >= attentionMs
    const taken = areAll ? all : all.filter(({ id }) => this.#changed.has(id))
    this.#changed.clear()
    this.#areAllDue = false
    if (areAll) this.#lookedMs = nowMs
    return taken
  }
}
