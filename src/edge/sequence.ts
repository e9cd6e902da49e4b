/** Runs work one after the other, in the order in which it was asked for. */
export class Sequence {
  #last: Promise<unknown> = Promise.resolve()

  /** Begins the work when all that came before has ended; resolves or rejects as the work does. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => {})
    return result
  }
}
