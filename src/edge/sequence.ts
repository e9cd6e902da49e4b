/** Runs work one after the other, in the order in which it was asked for. */
export class Sequence {
  #last: Promise<unknown> = Promise.resolve()
  /** Work that has not ended. */
  #count = 0

  /** Begins the work when all that came before has ended; resolves or rejects as the work does. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const isFirst = this.#count === 0
    this.#count += 1
    const result = isFirst ? work() : this.#last.then(work)
    const onEnd = () => {
      this.#count -= 1
    }
    this.#last = result.then(onEnd, onEnd)
    return result
  }
}
