import { Fault } from '../../model/fault.ts'
import { type Hour, hourAfter } from '../../model/hour.ts'

/** Runs that failed for the same reason. */
export interface Reason {
  readonly fault: Fault
  /** Number of failed runs. */
  readonly count: number
  /** Their hours and collectors, in the order they failed; at most `spansMax`. */
  readonly spans: readonly FailedSpan[]
}

/** Consecutive hours of one collector, both ends included. */
export interface FailedSpan {
  readonly collector: string
  /** First failed hour. */
  readonly from: Hour
  /** Last failed hour, included. */
  readonly to: Hour
}

/** Spans kept of one reason: if failures are scattered over a year, the first ones are enough. */
const spansMax = 100

/** Distinct reasons; further ones are counted together. */
export const reasonsMax = 20

/** Counts failures by reason, in bounded memory. */
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

  /** Reasons, most frequent first. */
  get reasons(): readonly Reason[] {
    return [...this.#reasons.values()].sort((a, b) => b.count - a.count)
  }
}

/** Reasons that were counted apart, together; most frequent first. Pure. */
export function joinedReasons(all: readonly Reason[]): readonly Reason[] {
  const groups = [...Map.groupBy(all, ({ fault }) => keyOf(fault)).values()]
  return groups
    .map(group => ({
      fault: group[0]?.fault ?? others,
      count: group.reduce((sum, { count }) => sum + count, 0),
      spans: group.flatMap(({ spans }) => spans).slice(0, spansMax),
    }))
    .sort((a, b) => b.count - a.count)
    .slice(0, reasonsMax)
}

/** Adds an hour to the spans. Hours ascend or descend; those of several collectors alternate. */
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

/** Key of a reason: messages that differ only in hours, numbers or hashes have the same. */
function keyOf({ code, message }: Fault): string {
  return `${code} ${message.replace(/0x[0-9a-f]+|\d[\d:TZ.,-]*/gi, '#')}`
}
