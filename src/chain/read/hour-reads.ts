import { setImmediate } from 'node:timers/promises'
import type { CandidateBlock } from '../look-up/as-of-search.ts'
import type { ReadAt, ReadRequest } from '../reads.ts'
import type { BlockHeader } from '../shapes.ts'
import { SharedWork } from '../shared-work.ts'
import type { ReadTarget } from './block-pin.ts'
import { type MergedLists, mergedLists, type ReadList } from './read-list.ts'
import type { AnyRead } from './reads-on-any.ts'
import { isAnswer, type ReadOutcome } from './single-reads.ts'

/** Dependencies of `HourReads`. */
export interface HourReadsDeps {
  asOf(signal: AbortSignal): Promise<BlockHeader>
  /** Executes reads at the as-of block, on any endpoint that can. */
  read(block: BlockHeader, requests: readonly ReadRequest[], signal: AbortSignal): Promise<AnyRead>
  /** Called when no more reads can join, with the fault when the look-up failed. */
  closed(failure?: unknown): void
}

/** A read at a candidate block, sent together with the request that proves the block. */
interface Trial {
  readonly block: CandidateBlock
  readonly header: PromiseWithResolvers<BlockHeader>
  /** `undefined` when it failed: the reads are then repeated. */
  readonly outcomes: Promise<readonly ReadOutcome[] | undefined>
}

/** Executes reads at a block on one endpoint. */
export type TryAt = (
  block: ReadTarget,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
) => Promise<readonly ReadOutcome[]>

/**
 * Collects the reads of one hour to send them together, each distinct one once: all that are requested until the as-of
 * block is known and the event loop has turned.
 */
export class HourReads {
  readonly #deps: HourReadsDeps
  readonly #lists = new Set<ReadList>()
  #known: MergedLists | undefined
  readonly work: SharedWork<ReadAt<AnyRead>>
  #trial: Trial | undefined
  #signal: AbortSignal | undefined

  constructor(deps: HourReadsDeps) {
    this.#deps = deps
    this.work = new SharedWork(async signal => {
      this.#signal = signal
      try {
        return await this.#travel(signal)
      } catch (error) {
        deps.closed(error)
        throw error
      }
    })
  }

  add(list: ReadList): void {
    if (this.#lists.has(list)) return
    this.#lists.add(list)
    this.#known = undefined
  }

  get #merged(): MergedLists {
    this.#known ??= mergedLists(this.#lists)
    return this.#known
  }

  /** Outcomes of a list's reads; later when one of them failed, as other endpoints are then asked for it. */
  async outcomesOf(
    list: ReadList,
    { outcomes, late }: AnyRead,
    signal: AbortSignal,
  ): Promise<readonly (ReadOutcome | undefined)[]> {
    const { requests, placesOf } = this.#merged
    const places = placesOf.get(list) ?? []
    const own = places.map(place => outcomes[place])
    if (!late || own.every(isAnswer)) return own
    const found = await late.join(signal)
    return places.map((place, index) => {
      const request = requests[place]
      return (request && found.get(request)) ?? own[index]
    })
  }

  /** Executes the reads so far at a candidate block. The outcome counts only if the block is proven. */
  tryAt(block: CandidateBlock, tryAt: TryAt): void {
    if (this.#trial || this.#lists.size === 0 || !this.#signal || this.#signal.aborted) return
    const header = Promise.withResolvers<BlockHeader>()
    const timestampSeconds = header.promise.then(proven => proven.timestampSeconds)
    const parentHash = header.promise.then(proven => proven.parentHash)
    for (const promise of [timestampSeconds, parentHash]) promise.catch(() => {})
    const target = { number: block.number, hash: block.hash, timestampSeconds, parentHash }
    const outcomes = tryAt(target, this.#merged.requests, this.#signal).catch(() => undefined)
    this.#trial = { block, header, outcomes }
  }

  async #travel(signal: AbortSignal): Promise<ReadAt<AnyRead>> {
    const at = await this.#deps.asOf(signal)
    const tried = await this.#tried(at)
    // One turn for requests made when the block became known.
    if (tried.length < this.#merged.requests.length) await setImmediate()
    this.#deps.closed()
    const { requests } = this.#merged
    const rest = tried.length === 0 ? requests : requests.filter((_, place) => !isAnswer(tried[place]))
    if (rest.length === 0) return { at, value: { outcomes: tried } }
    const { outcomes, late } = await this.#deps.read(at, rest, signal)
    if (rest.length === requests.length) return { at, value: { outcomes, ...(late && { late }) } }
    const read = outcomes.values()
    const merged = requests.flatMap((_, place) => {
      const outcome = tried[place]
      return isAnswer(outcome) ? [outcome] : (read.next().value ?? [])
    })
    return { at, value: { outcomes: merged, ...(late && { late }) } }
  }

  /** Outcomes read at the block before it was proven. */
  async #tried(at: BlockHeader): Promise<readonly ReadOutcome[]> {
    const trial = this.#trial
    if (!trial) return []
    if (trial.block.hash !== at.hash) {
      trial.header.reject(new Error('it is not the as-of block'))
      return []
    }
    trial.header.resolve(at)
    return (await trial.outcomes) ?? []
  }
}
