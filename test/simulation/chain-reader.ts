import type { ChainHead } from '../../src/chain/endpoint/learnt.ts'
import type { LogList } from '../../src/chain/log-list.ts'
import type { OpenChainReader } from '../../src/chain/read/reader.ts'
import type { ChainReader, ReadAnswer, ReadAt, ReadRequest } from '../../src/chain/reads.ts'
import type { WatchedClock } from '../../src/intake/hour-clock.ts'
import { type AsOfBlock, type FinalBlocks, isFinal } from '../../src/model/block.ts'
import { Fault } from '../../src/model/fault.ts'
import type { Hour } from '../../src/model/hour.ts'
import { chainId, type WorldChain } from './chain.ts'
import type { Fortune } from './chance.ts'

/** Knowledge of the chain in one life of the process: as the real reader it keeps what it has found until that fails. */
export class ScriptedReader implements ChainReader, Pick<OpenChainReader, 'askHead'> {
  readonly id = chainId
  readonly settleMs: number
  readonly #chain: WorldChain
  readonly #time: WatchedClock
  readonly #chance: Fortune
  readonly #finalBlocks: FinalBlocks
  readonly #found = new Map<Hour, { readonly block: AsOfBlock; readonly isFinal: boolean }>()
  #nextLookUp = Promise.withResolvers<void>()

  /** @param time its steady clock is the world's */
  constructor(chain: WorldChain, time: WatchedClock, chance: Fortune, finalBlocks: FinalBlocks) {
    this.settleMs = chain.script.settleMs
    this.#chain = chain
    this.#time = time
    this.#chance = chance
    this.#finalBlocks = finalBlocks
  }

  async block(hour: Hour, signal: AbortSignal): Promise<AsOfBlock> {
    // It has room for so many hours only.
    if (this.#chance.is(0.2)) this.#found.delete(hour)
    const found = this.#found.get(hour)
    const known =
      (await this.#finalBlocks.of(hour)) ?? (found?.isFinal || !this.#isFinal(hour) ? found?.block : undefined)
    return known ?? this.#lookUp(hour, signal)
  }

  #isFinal(hour: Hour): boolean {
    return isFinal(hour, this.settleMs, this.#time.earliestMs)
  }

  /** A block that is not canonical any more is not read. */
  async read(
    hour: Hour,
    _requests: readonly ReadRequest[],
    signal: AbortSignal,
  ): Promise<ReadAt<readonly ReadAnswer[]>> {
    const at = await this.block(hour, signal)
    await this.#pass(signal)
    try {
      this.#chain.requireReadable(at, this.#time.steadyMs())
    } catch (error) {
      this.#found.delete(hour)
      if (error instanceof Fault && error.code === 'chain-unreachable') await this.#finalBlocks.forget(hour)
      throw error
    }
    await this.#pass(signal)
    return { at, value: [] }
  }

  logs(): Promise<ReadAt<LogList>> {
    return Promise.reject(new Error('not asked for in these worlds'))
  }

  recheck(hour: Hour, signal: AbortSignal): Promise<AsOfBlock> {
    this.#found.delete(hour)
    return this.block(hour, signal)
  }

  async askHead(signal: AbortSignal): Promise<ChainHead> {
    await this.#pass(signal)
    return this.#chain.head(this.#time.steadyMs())
  }

  get nextLookUp(): Promise<void> {
    return this.#nextLookUp.promise
  }

  async #lookUp(hour: Hour, signal: AbortSignal): Promise<AsOfBlock> {
    const isFinal = this.#isFinal(hour)
    await Promise.resolve()
    this.#nextLookUp.resolve()
    this.#nextLookUp = Promise.withResolvers<void>()
    await this.#pass(signal)
    const block = this.#chain.asOf(hour, this.#time.steadyMs())
    await this.#pass(signal)
    this.#found.set(hour, { block, isFinal })
    if (this.#isFinal(hour)) void this.#finalBlocks.keep([{ hour, block }])
    return block
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const ms = Math.ceil(this.#chance.between(0.2, 1) * this.#chain.script.latencyMs)
    await this.#time.sleep(ms, signal)
  }
}
