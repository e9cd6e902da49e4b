import { hourNumber } from '../../../model/hour.ts'
import type { MetricKey } from '../../contract/metrics.ts'
import type { MetricRegistry, NumberSpan } from './metric-registry.ts'

/** Most spans of metrics remembered, so that a long outage of the service costs little memory. */
const unsentMax = 10_000

/**
 * Metrics that this process enqueued and has not sent: no earlier process can have sent them. In memory and bounded, so
 * a metric that is not listed may be new, too.
 */
export class Unsent {
  readonly #registry: MetricRegistry
  readonly #byHour = new Map<number, readonly NumberSpan[]>()
  #size = 0

  constructor(registry: MetricRegistry) {
    this.#registry = registry
  }

  has(metric: MetricKey): boolean {
    const number = this.#registry.metric(metric.id)?.number ?? 0
    return this.#spans(hourNumber(metric.hour)).some(({ first, last }) => first <= number && number <= last)
  }

  add(hour: number, span: NumberSpan): void {
    // A span is listed already when its transaction was rolled back and is repeated.
    this.remove(hour, span)
    if (this.#size < unsentMax) this.#set(hour, [...this.#spans(hour), span])
  }

  remove(hour: number, { first, last }: NumberSpan): void {
    const before = this.#spans(hour)
    if (!before.some(span => span.first <= last && span.last >= first)) return
    this.#set(
      hour,
      before.flatMap(span => {
        if (span.first > last || span.last < first) return span
        const left: NumberSpan[] = []
        if (span.first < first) left.push({ first: span.first, last: first - 1 })
        if (span.last > last) left.push({ first: last + 1, last: span.last })
        return left
      }),
    )
  }

  /** Removes metrics that may have been sent: the given ones, or all when another process may have sent them. */
  mayBeSent(metrics: readonly MetricKey[] | 'all'): void {
    if (metrics === 'all') {
      this.#byHour.clear()
      this.#size = 0
      return
    }
    if (this.#size === 0) return
    let together: { readonly hour: number; readonly first: number; last: number } | undefined
    for (const metric of metrics) {
      const [hour, number] = [hourNumber(metric.hour), this.#registry.metric(metric.id)?.number ?? 0]
      if (together?.hour === hour && together.last + 1 === number) together.last = number
      else {
        if (together) this.remove(together.hour, together)
        together = { hour, first: number, last: number }
      }
    }
    if (together) this.remove(together.hour, together)
  }

  #spans(hour: number): readonly NumberSpan[] {
    return this.#byHour.get(hour) ?? []
  }

  #set(hour: number, spans: readonly NumberSpan[]): void {
    this.#size += spans.length - this.#spans(hour).length
    if (spans.length > 0) this.#byHour.set(hour, spans)
    else this.#byHour.delete(hour)
  }
}
