import type { Hour } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import { type MetricList, runsOf } from '../../model/metric-list.ts'

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

  /** Whether the next metric is of an hour from `newestFirstFrom` on. */
  isNewest(newestFirstFrom: Hour): boolean {
    const [run] = runsOf(this.#read.slice(this.#handedOut, this.#handedOut + 1))
    return run !== undefined && run.hour >= newestFirstFrom
  }

  /** The metrics that are left, the same at each look. */
  get metrics(): readonly Metric[] {
    const left = [...this.#read.slice(this.#handedOut)]
    this.#read = left
    this.#handedOut = 0
    return left
  }

  /**
   * Removes and returns the first metrics, at most `count`. The current hour is not mixed with older ones, which a service
   * may fail on alone.
   */
  take(count: number, current: Hour): MetricList {
    const first = this.#read.slice(this.#handedOut, this.#handedOut + count)
    const isNewest = ({ hour }: { readonly hour: Hour }) => hour >= current
    const runs = runsOf(first)
    const others = runs.findIndex((run, _, [one]) => one && isNewest(run) !== isNewest(one))
    const length = others < 0 ? count : runs.slice(0, others).reduce((sum, run) => sum + run.length, 0)
    const taken = first.slice(0, length)
    this.#handedOut += taken.length
    return taken
  }
}
