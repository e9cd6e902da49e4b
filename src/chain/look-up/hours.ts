import type { AsOfBlock } from '../../model/block.ts'
import type { Hour } from '../../model/hour.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { hoursRememberedMax } from '../limits.ts'
import type { HourReads } from '../read/gathering.ts'
import type { SharedWork } from '../shared-work.ts'
import { type BlockHeader, plain } from './known-headers.ts'

/** An as-of block, with its child where that was read in this process: it proves it. */
export interface Proven {
  readonly block: AsOfBlock
  readonly after?: BlockHeader
  /** Whether it was final when it was looked up; one that was not is looked up anew once it is. */
  readonly isFinal: boolean
}

/** What is under way or known for one hour of a chain. */
export interface HourLookUp {
  readonly hour: Hour
  endpoint?: Endpoint
  /** Of the as-of block, once it is known. */
  blockNumber?: bigint
  search?: SharedWork<AsOfBlock>
  proven?: Proven
  /** The chain's last block when it had none past the hour yet. */
  head?: BlockHeader
  gathering?: HourReads
}

/** The hours of one chain in memory: a bounded number, those longest unused are forgotten. */
export class Hours {
  readonly #states = new Map<Hour, HourLookUp>()

  of(hour: Hour): HourLookUp {
    const state = this.#states.get(hour) ?? { hour }
    this.#states.delete(hour)
    this.#states.set(hour, state)
    const [oldest] = this.#states.keys()
    if (this.#states.size > hoursRememberedMax && oldest !== undefined) this.#states.delete(oldest)
    return state
  }

  /** Headers already proven that lie closest around an hour: where a search starts. */
  around(hour: Hour): BlockHeader[] {
    let [before, after]: [HourLookUp | undefined, HourLookUp | undefined] = [undefined, undefined]
    for (const state of this.#states.values()) {
      if (!state.proven) continue
      if (state.hour <= hour && (!before || state.hour > before.hour)) before = state
      if (state.hour > hour && (!after || state.hour < after.hour)) after = state
    }
    return [before, after].flatMap(state => (state?.proven ? headersOf(state.proven) : []))
  }

  /** What was proven of an hour does not hold any more: a reorg, or another endpoint's chain. */
  forget(hour: Hour): void {
    this.#states.delete(hour)
  }
}

/** A pair that a reorg may have replaced must not prove itself: whose child the second is, is asked anew. */
function headersOf({ block, after, isFinal }: Proven): BlockHeader[] {
  if (!after) return [block]
  return [block, isFinal ? after : plain(after)]
}
