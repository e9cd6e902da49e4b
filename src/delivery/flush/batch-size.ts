import { batchMetricsMax } from '../../model/limits.ts'
import { smallerSize } from '../isolate/parts.ts'

/** Full batches accepted in a row after which twice as many metrics are tried. */
const acceptedMin = 100

/**
 * Number of metrics that the service takes at once, as its answers show. It shrinks with a 413 and is remembered while the
 * process lives; after a hundred full batches twice as many are tried, since one odd metric may be answered with 413, too.
 */
export class BatchSize {
  #max = batchMetricsMax
  /** The size before it was doubled: that much was accepted. */
  #passed = 0
  #accepted = 0

  /** Metrics of the next batch, at most. */
  get max(): number {
    return this.#max
  }

  /** Notes that so many metrics are too large together. */
  refused(count: number): void {
    if (count <= this.#passed) this.#passed = 0
    this.#max = Math.min(this.#max, Math.max(this.#passed, smallerSize(count, true)))
    this.#accepted = 0
  }

  /** Notes that so many metrics were accepted together. */
  accepted(count: number): void {
    if (count < this.#max || this.#max === batchMetricsMax) return
    this.#accepted += 1
    if (this.#accepted < acceptedMin) return
    this.#passed = this.#max
    this.#max = Math.min(batchMetricsMax, 2 * this.#max)
    this.#accepted = 0
  }
}
