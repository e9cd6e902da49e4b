import type { Hour } from '../model/hour.ts'
import type { Header } from './as-of.ts'
import type { Endpoint } from './endpoint.ts'
import { hoursRememberedMax } from './limits.ts'
import type { ReadRequest } from './reads.ts'
import type { SharedWork } from './shared-work.ts'
import type { ReadOutcome } from './single-reads.ts'

/** An as-of block and its child, which proves it. */
export interface Proven {
  readonly block: Header
  readonly after: Header
}

/** Reads that will travel together; different ones once each. */
export interface Gathering {
  readonly requests: ReadRequest[]
  /** Index in `requests` by what is asked. */
  readonly places: Map<string, number>
  readonly work: SharedWork<readonly ReadOutcome[]>
}

/** What is under way or known for one hour of a chain. */
export interface HourState {
  readonly hour: Hour
  endpoint?: Endpoint
  search?: SharedWork<Proven>
  proven?: Proven
  gathering?: Gathering
}

/** The hours of one chain in memory: a bounded number, those longest unused are forgotten. */
export class Hours {
  readonly #states = new Map<Hour, HourState>()

  of(hour: Hour): HourState {
    const state = this.#states.get(hour) ?? { hour }
    this.#states.delete(hour)
    this.#states.set(hour, state)
    const [oldest] = this.#states.keys()
    if (this.#states.size > hoursRememberedMax && oldest !== undefined) this.#states.delete(oldest)
    return state
  }

  /** Headers already proven that lie closest around an hour: where a search starts. */
  around(hour: Hour): Header[] {
    let [before, after]: [HourState | undefined, HourState | undefined] = [undefined, undefined]
    for (const state of this.#states.values()) {
      if (!state.proven) continue
      if (state.hour <= hour && (!before || state.hour > before.hour)) before = state
      if (state.hour > hour && (!after || state.hour < after.hour)) after = state
    }
    return [before, after].flatMap(state => (state?.proven ? [state.proven.block, state.proven.after] : []))
  }

  /** What was proven of an hour does not hold any more: a reorg, or another endpoint's chain. */
  forget(hour: Hour): void {
    this.#states.delete(hour)
  }
}
