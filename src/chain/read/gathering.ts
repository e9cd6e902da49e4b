import { setImmediate } from 'node:timers/promises'
import type { AsOfBlock } from '../../model/block.ts'
import type { Likely } from '../look-up/as-of-search.ts'
import type { ReadAt, ReadRequest } from '../reads.ts'
import { SharedWork } from '../shared-work.ts'
import type { ReadTarget } from './aggregate-call.ts'
import type { AnyRead } from './reads-on-any.ts'
import { isAnswer, type ReadOutcome } from './single-reads.ts'

/** How the reads of an hour are made. */
export interface HourReadsDeps {
  asOf(signal: AbortSignal): Promise<AsOfBlock>
  /** Reads at the as-of block, on whichever endpoint can. */
  read(block: AsOfBlock, requests: readonly ReadRequest[], signal: AbortSignal): Promise<AnyRead>
  /** Called when nothing more may join, and with the fault when it failed. */
  closed(failure?: unknown): void
}

/** A read at a block that probably is the as-of block, which travels with the question whether it is. */
interface Trial {
  readonly block: Likely
  readonly timestampSeconds: PromiseWithResolvers<number>
  /** `undefined` when it failed: then it is read again, as if it had not been tried. */
  readonly outcomes: Promise<readonly ReadOutcome[] | undefined>
}

/** Reads at a block on one endpoint. */
export type TryAt = (
  block: ReadTarget,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
) => Promise<readonly ReadOutcome[]>

/**
 * Reads of one hour that travel together, different ones once each: whatever is asked for until the as-of block is known
 * and the event loop has turned.
 */
export class HourReads {
  readonly #parts: HourReadsDeps
  readonly #requests: ReadRequest[] = []
  /** Index in the requests by whom and what is asked. Not by one text of both: to write that takes longer than to ask. */
  readonly #places = new Map<string, Map<string, number>>()
  readonly work: SharedWork<ReadAt<AnyRead>>
  #trial: Trial | undefined
  #signal: AbortSignal | undefined

  constructor(parts: HourReadsDeps) {
    this.#parts = parts
    this.work = new SharedWork(async signal => {
      this.#signal = signal
      try {
        return await this.#travel(signal)
      } catch (error) {
        parts.closed(error)
        throw error
      }
    })
  }

  /** Where the outcome of a request will stand; one that is there already is not asked twice. */
  placeOf(request: ReadRequest): number {
    const [address, input] = request.kind === 'call' ? [request.to, request.input] : [request.address, '']
    const ofAddress = this.#places.get(address) ?? new Map<string, number>()
    this.#places.set(address, ofAddress)
    const place = ofAddress.get(input) ?? this.#requests.push(request) - 1
    ofAddress.set(input, place)
    return place
  }

  /** What stands at some places: later where one of them failed, as other endpoints are asked for it. */
  async outcomesAt(
    places: readonly number[],
    { outcomes, late }: AnyRead,
    signal: AbortSignal,
  ): Promise<readonly (ReadOutcome | undefined)[]> {
    const own = places.map(place => outcomes[place])
    if (!late || own.every(isAnswer)) return own
    const found = await late.join(signal)
    return places.map((place, index) => {
      const request = this.#requests[place]
      return (request && found.get(request)) ?? own[index]
    })
  }

  /** Reads what is gathered so far at a block that is not proven yet: it counts only if the block turns out to be the one. */
  tryAt(block: Likely, tryAt: TryAt): void {
    if (this.#trial || this.#requests.length === 0 || !this.#signal || this.#signal.aborted) return
    const timestampSeconds = Promise.withResolvers<number>()
    timestampSeconds.promise.catch(() => {})
    const target = { number: block.number, hash: block.hash, timestampSeconds: timestampSeconds.promise }
    const outcomes = tryAt(target, [...this.#requests], this.#signal).catch(() => undefined)
    this.#trial = { block, timestampSeconds, outcomes }
  }

  async #travel(signal: AbortSignal): Promise<ReadAt<AnyRead>> {
    const at = await this.#parts.asOf(signal)
    const tried = await this.#tried(at)
    // A turn for those who asked in the turn in which the block became known.
    if (tried.length < this.#requests.length) await setImmediate()
    this.#parts.closed()
    const rest = this.#requests.filter((_, place) => !isAnswer(tried[place]))
    if (rest.length === 0) return { at, value: { outcomes: tried } }
    const { outcomes, late } = await this.#parts.read(at, rest, signal)
    if (rest.length === this.#requests.length) return { at, value: { outcomes, ...(late && { late }) } }
    const read = outcomes.values()
    const merged = this.#requests.flatMap((_, place) => {
      const outcome = tried[place]
      return isAnswer(outcome) ? [outcome] : (read.next().value ?? [])
    })
    return { at, value: { outcomes: merged, ...(late && { late }) } }
  }

  /** What was read of the block before it was proven. */
  async #tried(at: AsOfBlock): Promise<readonly ReadOutcome[]> {
    const trial = this.#trial
    if (!trial) return []
    if (trial.block.hash !== at.hash) {
      trial.timestampSeconds.reject(new Error('it is not the as-of block'))
      return []
    }
    trial.timestampSeconds.resolve(at.timestampSeconds)
    return (await trial.outcomes) ?? []
  }
}
