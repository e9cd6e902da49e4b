import { createHash } from 'node:crypto'
import { Semaphore } from '../../edge/semaphore.ts'
import type { LogFilter } from '../../model/block.ts'
import { logRequestsAtOnceMax } from '../limits.ts'
import { logFiltersRememberedMax } from './limits.ts'
import { LogSpan } from './log-span.ts'

/**
 * Learnt limits of `eth_getLogs` on one endpoint. Each filter has its own span, as a limit may be one of results: a
 * contract with many events does not shrink the ranges of others. A new filter starts with the largest span of the
 * others.
 */
export class LogSpans {
  /** Fewer than its concurrent requests, so that other reads have room. */
  readonly semaphore = new Semaphore(logRequestsAtOnceMax)
  /** Whether `eth_getLogs` passes in a batch, as far as observed. */
  takesBatches = true
  readonly #most: number
  readonly #byFilter = new Map<string, LogSpan>()

  /** @param blocksMax as configured; default: no limit */
  constructor(blocksMax = Number.POSITIVE_INFINITY) {
    this.#most = blocksMax
  }

  of(filter: LogFilter): LogSpan {
    const key = createHash('sha256').update(JSON.stringify(filter)).digest('base64')
    const span = this.#byFilter.get(key) ?? new LogSpan(this.#most, this.blocksMax)
    // Moves the entry to the end: the least recently used is deleted first.
    this.#byFilter.delete(key)
    this.#byFilter.set(key, span)
    const [oldest] = this.#byFilter.keys()
    if (this.#byFilter.size > logFiltersRememberedMax && oldest !== undefined) this.#byFilter.delete(oldest)
    return span
  }

  /** Largest span of any filter, in blocks; infinite without a limit. */
  get blocksMax(): number {
    const spans = [...this.#byFilter.values()].map(({ blocksMax }) => blocksMax)
    return spans.length === 0 ? this.#most : Math.max(...spans)
  }
}
