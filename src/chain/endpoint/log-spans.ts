import { createHash } from 'node:crypto'
import type { LogFilter } from '../../model/block.ts'
import { logFiltersRememberedMax, logRequestsAtOnceMax } from '../limits.ts'
import { LogSpan } from './log-span.ts'
import { Slots } from './slots.ts'

/**
 * How an endpoint takes `eth_getLogs`. Each filter has a span of its own, as a limit may be one of results: a contract
 * with many events does not make the ranges of others small. A filter that was not asked before begins with the largest
 * span of the others.
 */
export class LogSpans {
  /** Fewer than its requests under way: there is room for other reads. */
  readonly slots = new Slots(logRequestsAtOnceMax)
  /** Whether `eth_getLogs` passes in a batch, as far as it was seen. */
  takesBatches = true
  readonly #most: number
  readonly #byFilter = new Map<string, LogSpan>()

  /** @param blocksMax as configured */
  constructor(blocksMax = Number.POSITIVE_INFINITY) {
    this.#most = blocksMax
  }

  of(filter: LogFilter): LogSpan {
    const key = createHash('sha256').update(JSON.stringify(filter)).digest('base64')
    const span = this.#byFilter.get(key) ?? new LogSpan(this.#most, this.blocksMax)
    // The last one that was used is the last to be forgotten.
    this.#byFilter.delete(key)
    this.#byFilter.set(key, span)
    const [oldest] = this.#byFilter.keys()
    if (this.#byFilter.size > logFiltersRememberedMax && oldest !== undefined) this.#byFilter.delete(oldest)
    return span
  }

  /** Blocks of the largest range that is asked for; infinite where nothing limits it. */
  get blocksMax(): number {
    const spans = [...this.#byFilter.values()].map(({ blocksMax }) => blocksMax)
    return spans.length === 0 ? this.#most : Math.max(...spans)
  }
}
