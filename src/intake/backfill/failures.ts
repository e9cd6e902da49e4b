import { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'

/** Hours that failed for one reason. */
export interface Reason {
  readonly fault: Fault
  /** Runs that failed so. */
  readonly count: number
  /** One of them. */
  readonly collector: string
  readonly hour: Hour
}

/** Different reasons that are told apart; the rest is counted together. */
export const reasonsMax = 20

/** Counts failures by their reason: a year of them takes no more memory than a few. */
export class Failures {
  readonly #reasons = new Map<string, Reason>()

  add(collector: string, hour: Hour, fault: Fault): void {
    const own = keyOf(fault)
    const key = this.#reasons.has(own) || this.#reasons.size < reasonsMax ? own : ''
    const known = this.#reasons.get(key)
    const example = { fault: key === '' ? others : fault, collector, hour }
    this.#reasons.set(key, known ? { ...known, count: known.count + 1 } : { ...example, count: 1 })
  }

  /** Most frequent first. */
  get reasons(): readonly Reason[] {
    return [...this.#reasons.values()].sort((a, b) => b.count - a.count)
  }
}

const others = new Fault('stopped', 'other reasons')

/** Hours, numbers and hashes in a message differ where the reason is the same. */
function keyOf({ code, message }: Fault): string {
  return `${code} ${message.replace(/0x[0-9a-f]+|\d[\d:TZ.,-]*/gi, '#')}`
}
