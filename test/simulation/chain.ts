import type { ChainHead } from '../../src/chain/endpoint/learnt.ts'
import type { AsOfBlock } from '../../src/model/block.ts'
import { Fault } from '../../src/model/fault.ts'
import type { Hour } from '../../src/model/hour.ts'
import type { Block, ChainScript, ChainTrouble } from './chain-script.ts'

/** As `eth_chainId` answers it in every world. */
export const chainId = 99

/** The chain by a script: what its endpoints say at an instant. */
export class WorldChain {
  readonly script: ChainScript
  readonly #candidates = new Map<Hour, ReadonlySet<string>>()
  readonly #blocks: readonly Block[]

  constructor(script: ChainScript) {
    this.script = script
    const blocks = new Set<Block>()
    for (const { block } of script.heads) {
      for (let at: Block | undefined = block; at && !blocks.has(at); at = at.parent) blocks.add(at)
    }
    this.#blocks = [...blocks]
  }

  /** The as-of block that the endpoints give. @throws Fault */
  asOf(hour: Hour, nowMs: number): AsOfBlock {
    this.#requireUp(nowMs)
    const tip = this.#tip(nowMs)
    if (tip.seconds * 1000 <= hour) throw new Fault('chain-behind', 'the chain has no block past the hour yet')
    const block = lastAt(tip, hour)
    if (!block) throw new Fault('chain-before-first-block', 'the chain had no block yet')
    return plain(block)
  }

  /** The youngest block. @throws Fault */
  head(nowMs: number): ChainHead {
    this.#requireUp(nowMs)
    const { number, seconds } = this.#tip(nowMs)
    return { number: BigInt(number), timestampSeconds: seconds }
  }

  /** Whether a block's state can be read. @throws Fault */
  requireReadable(block: AsOfBlock, nowMs: number): void {
    this.#requireUp(nowMs)
    if (!this.#isCanonical(block, nowMs)) throw new Fault('chain-unreachable', 'the block is not there any more')
    if (this.isStateMissing(block.timestampSeconds, nowMs)) throw new Fault('chain-state-missing', 'no endpoint has it')
  }

  /** Whether no endpoint has the state of a block of an instant, for now or for ever. */
  isStateMissing(seconds: number, nowMs: number): boolean {
    const isStateless = this.#troubles(nowMs).some(({ ill }) => ill.kind === 'stateless')
    return isStateless || seconds * 1000 < nowMs - (this.script.stateMs ?? Number.POSITIVE_INFINITY)
  }

  /** The as-of block in the end; `undefined` before the first one. */
  finalAsOf(hour: Hour): Block | undefined {
    return lastAt(this.#tip(Number.POSITIVE_INFINITY), hour)
  }

  /** Hashes of all blocks that were the as-of block of an hour at some time. */
  candidates(hour: Hour): ReadonlySet<string> {
    const known = this.#candidates.get(hour)
    if (known) return known
    const past = this.#blocks.filter(({ seconds }) => seconds * 1000 > hour)
    const found = new Set(past.flatMap(({ parent }) => (parent && parent.seconds * 1000 <= hour ? [parent.hash] : [])))
    this.#candidates.set(hour, found)
    return found
  }

  #tip(nowMs: number): Block {
    const behind = this.#troubles(nowMs).flatMap(({ ill }) => (ill.kind === 'behind' ? [ill.lagMs] : []))
    const seenMs = nowMs - Math.max(0, ...behind)
    const { heads } = this.script
    let [low, high] = [0, heads.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((heads[middle]?.fromMs ?? 0) <= seenMs) low = middle + 1
      else high = middle
    }
    const head = heads[low - 1]
    if (!head) throw new Fault('chain-behind', 'the chain has no block yet')
    return head.block
  }

  #isCanonical({ number, hash }: AsOfBlock, nowMs: number): boolean {
    let at: Block | undefined = this.#tip(nowMs)
    while (at && at.number > Number(number)) at = at.parent
    return at?.hash === hash
  }

  #requireUp(nowMs: number): void {
    const isDown = this.#troubles(nowMs).some(({ ill }) => ill.kind === 'down')
    if (isDown) throw new Fault('chain-unreachable', 'no endpoint answers')
  }

  #troubles(nowMs: number): ChainTrouble[] {
    return this.script.troubles.filter(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs)
  }
}

function lastAt(tip: Block, hour: Hour): Block | undefined {
  let at: Block | undefined = tip
  while (at && at.seconds * 1000 > hour) at = at.parent
  return at
}

function plain({ number, hash, seconds }: Block): AsOfBlock {
  return { number: BigInt(number), hash, timestampSeconds: seconds }
}
