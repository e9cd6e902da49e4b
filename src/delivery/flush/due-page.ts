import type { Metric } from '../../model/metric.ts'
import type { MetricList } from '../../model/metric-list.ts'

/** Due metrics that were read and not handed out, in the order of delivery. */
export class DuePage {
  #read: MetricList
  /** Number of metrics at the front that were handed out, so that the others are not copied for each batch. */
  #handedOut = 0

  constructor(read: MetricList = []) {
    this.#read = read
  }

  /** Number of metrics that are left. */
  get length(): number {
    return this.#read.length - this.#handedOut
  }

  /** The metrics that are left, the same at each look. */
  get metrics(): readonly Metric[] {
    const left = [...this.#read.slice(this.#handedOut)]
    this.#read = left
    this.#handedOut = 0
    return left
  }

  /** Removes and returns the first metrics, at most `count`. */
  take(count: number): MetricList {
    const taken = this.#read.slice(this.#handedOut, this.#handedOut + count)
    this.#handedOut += taken.length
    return taken
  }
}
