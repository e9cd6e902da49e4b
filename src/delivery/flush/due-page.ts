import type { Metric } from '../../model/metric.ts'

/** Due metrics that were read and not handed out, in the order of delivery. */
export class DuePage {
  #metrics: readonly Metric[]
  /** Number of metrics at the front that were handed out, so that the others are not copied for each batch. */
  #handedOut = 0

  constructor(metrics: readonly Metric[] = []) {
    this.#metrics = metrics
  }

  /** Number of metrics that are left. */
  get length(): number {
    return this.#metrics.length - this.#handedOut
  }

  /** The metrics that are left. */
  get metrics(): readonly Metric[] {
    if (this.#handedOut > 0) this.#metrics = this.#metrics.slice(this.#handedOut)
    this.#handedOut = 0
    return this.#metrics
  }

  /** Removes and returns the first metrics, at most `count`. */
  take(count: number): readonly Metric[] {
    const taken = this.#metrics.slice(this.#handedOut, this.#handedOut + count)
    this.#handedOut += taken.length
    return taken
  }
}
