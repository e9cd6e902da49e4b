/** Something under way that a signal ends. */
interface Endable {
  end(reason: Error): void
}

/**
 * Ends what is under way when a signal is aborted, by one listener for each signal: to add one and to remove it takes as long
 * as to read an answer.
 */
export class AbortListeners {
  readonly #bySignal = new Map<AbortSignal, Set<Endable>>()

  /** Adds something that a signal ends, from now on. */
  add(signal: AbortSignal, one: Endable): void {
    const known = this.#bySignal.get(signal)
    if (known) known.add(one)
    else {
      this.#bySignal.set(signal, new Set([one]))
      signal.addEventListener('abort', this.#end)
    }
  }

  /** Removes it once it has ended. */
  delete(signal: AbortSignal, one: Endable): void {
    const all = this.#bySignal.get(signal)
    all?.delete(one)
    if (all?.size !== 0) return
    this.#bySignal.delete(signal)
    signal.removeEventListener('abort', this.#end)
  }

  readonly #end = ({ target }: Event): void => {
    const signal = target as AbortSignal
    for (const one of this.#bySignal.get(signal) ?? []) one.end(signal.reason)
  }
}
