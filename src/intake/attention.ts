import { attentionMs } from './limits.ts'

/** Collectors checked in one turn; the event loop is blocked for as long. */
const atOnceMax = 250

/**
 * Chooses the collectors a turn checks: those with a change, and now and then all. With a thousand collectors, checking
 * each after every run would keep a core busy.
 */
export class Attention {
  readonly #changed = new Set<string>()
  #areAllDue = true
  #isLeft = false
  #lookedMs = 0

  /** Records a change of a collector's hours: a run ended, or hours were planned. */
  changed(id: string): void {
    this.#changed.add(id)
  }

  /** Records that a wait has ended, which may concern any collector. */
  rested(): void {
    this.#areAllDue = true
  }

  /** The collectors to check now; with many, the rest follow in the next turns. */
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

  /** Whether collectors are left to check. */
  get isLeft(): boolean {
    return this.#isLeft
  }
}
