import type { Hour } from '../../model/hour.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import type { BlockHeader } from '../shapes.ts'
import type { SharedWork } from '../shared-work.ts'
import { plain } from './known-headers.ts'
import { hoursRememberedMax } from './limits.ts'

/** An as-of block, with its child if that was read in this process: the child proves it. */
export interface Proven {
  readonly block: BlockHeader
  /** The child; absent when the block comes from the cache. */
  readonly after?: BlockHeader
  /** Whether it was final when looked up; otherwise it is looked up again once it should be final. */
  readonly isFinal: boolean
}

/** The state of one hour of a chain: pending or known. */
export interface HourLookUp {
  readonly hour: Hour
  /** The endpoint that serves the hour; absent until one has. */
  endpoint?: Endpoint
  /** Number of the as-of block, once known. */
  blockNumber?: bigint
  /** The pending look-up; absent when there is none. */
  search?: SharedWork<BlockHeader>
  /** The result; absent until there is one. */
  proven?: Proven
  /** The chain's last block, when it was not past the hour yet. */
  head?: BlockHeader
}

/** Cache of the hours of one chain; the least recently used are deleted. */
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

  /** The proven headers nearest to an hour, where a search starts. */
  around(hour: Hour): BlockHeader[] {
    let [before, after]: [HourLookUp | undefined, HourLookUp | undefined] = [undefined, undefined]
    for (const state of this.#states.values()) {
      if (!state.proven) continue
      if (state.hour <= hour && (!before || state.hour > before.hour)) before = state
      if (state.hour > hour && (!after || state.hour < after.hour)) after = state
    }
    return [before, after].flatMap(state => (state?.proven ? headersOf(state.proven) : []))
  }

  /** Discards an hour's proven block: after a reorg, or when an endpoint is on another chain. */
  forget(hour: Hour): void {
    this.#states.delete(hour)
  }
}

/**
 * Headers to start a search with. A pair that a reorg may have replaced must not prove itself: the parent hash of the
 * second is asked for again.
 */
function headersOf({ block, after, isFinal }: Proven): BlockHeader[] {
  if (!after) return [block]
  return [block, isFinal ? after : plain(after)]
}
