import { Fault } from '../../model/fault.ts'
import { type Hour, hourAfter } from '../../model/hour.ts'

/** Hours that failed for one reason. */
export interface Reason {
  readonly fault: Fault
  /** Runs that failed so. */
  readonly count: number
  /** Which hours of which collectors, as they failed one after the other; at most `spansMax` of them. */
  readonly spans: readonly FailedSpan[]
}

/** Hours in a row of one collector, both ends included. */
export interface FailedSpan {
  readonly collector: string
  readonly from: Hour
  readonly to: Hour
}

/** Spans that are remembered of one reason: of what is scattered over a year the first are enough. */
const spansMax = 100

/** Different reasons that are told apart; the rest is counted together. */
export const reasonsMax = 20

/** Counts failures by their reason: a year of them takes no more memory than a few. */
export class FailureReasons {
  readonly #reasons = new Map<string, Reason>()

  add(collector: string, hour: Hour, fault: Fault): void {
    const own = keyOf(fault)
    const key = this.#reasons.has(own) || this.#reasons.size < reasonsMax ? own : ''
    const known = this.#reasons.get(key)
    const spans = withHour(known?.spans ?? [], collector, hour)
    this.#reasons.set(key, {
      fault: known?.fault ?? (key === '' ? others : fault),
      count: (known?.count ?? 0) + 1,
      spans,
    })
  }

  /** Most frequent first. */
  get reasons(): readonly Reason[] {
    return [...this.#reasons.values()].sort((a, b) => b.count - a.count)
  }
}

/** Hours come in their order or against it, those of several collectors in turn. */
function withHour(spans: readonly FailedSpan[], collector: string, hour: Hour): readonly FailedSpan[] {
  const place = spans.findLastIndex(
    span => span.collector === collector && span.from <= hourAfter(hour, 1) && span.to >= hourAfter(hour, -1),
  )
  const span = spans[place]
  if (!span) return spans.length < spansMax ? [...spans, { collector, from: hour, to: hour }] : spans
  const grown = { collector, from: hour < span.from ? hour : span.from, to: hour > span.to ? hour : span.to }
  return spans.with(place, grown)
}

const others = new Fault('stopped', 'other reasons')

/** Hours, numbers and hashes in a message differ where the reason is the same. */
function keyOf({ code, message }: Fault): string {
  return `${code} ${message.replace(/0x[0-9a-f]+|\d[\d:TZ.,-]*/gi, '#')}`
}
