import { LogList } from '../../chain/log-list.ts'
import type { Chains } from '../../chain/reads.ts'
import type { AsOfBlock, Hex, PinnedBlock, PinnedLogs } from '../../model/block.ts'
import { Fault, faultRecord } from '../../model/fault.ts'
import type { ChainQuestion, ChainReply, TaskEnd } from '../messages.ts'

interface Met {
  readonly block: AsOfBlock
  readonly logs: PinnedLogs[]
}

/** The block one run has read of each chain, the same for all of its reads, and the logs it read there. */
export class RunBlocks {
  readonly #chains: Chains
  readonly #byChain = new Map<number, Met>()
  /** Hashes of the blocks of earlier hours, by chain and hours before. */
  readonly #earlier = new Map<string, Hex>()

  constructor(chains: Chains) {
    this.#chains = chains
  }

  /** Checks a reply. @returns it, or a fault when its block differs from an earlier one because of a reorg */
  checked(name: string, question: ChainQuestion, reply: ChainReply): ChainReply {
    const chainId = this.#chains[name]?.id
    if (reply.kind === 'faulted' || chainId === undefined) return reply
    const met = this.#byChain.get(chainId) ?? { block: reply.at, logs: [] }
    if (met.block.hash !== reply.at.hash) return { kind: 'faulted', fault: faultRecord(reorganized(name)) }
    this.#byChain.set(chainId, met)
    if (question.kind === 'logs' && reply.kind === 'logs') {
      met.logs.push({ filter: question.filter, digest: new LogList(reply.value).digest })
    }
    return reply
  }

  /**
   * Checks a reply as of an earlier hour. Its block is not kept: it is an ancestor of the hour's own, which must have been
   * read before, so a reorg that replaces it replaces that one.
   *
   * @returns it, or a fault when its block differs from an earlier reply of that hour because of a reorg
   */
  checkedEarlier(name: string, question: ChainQuestion, reply: ChainReply, hoursBefore: number): ChainReply {
    const chainId = this.#chains[name]?.id
    if (reply.kind === 'faulted' || chainId === undefined) return reply
    const key = `${chainId} ${hoursBefore}`
    const hash = this.#earlier.get(key) ?? reply.at.hash
    if (hash !== reply.at.hash) return { kind: 'faulted', fault: faultRecord(reorganized(name)) }
    this.#earlier.set(key, hash)
    if (question.kind === 'logs' && reply.kind === 'logs') {
      const { digest } = new LogList(reply.value)
      this.#byChain.get(chainId)?.logs.push({ filter: question.filter, digest, hoursBefore })
    }
    return reply
  }

  /**
   * Adds the blocks of a price that the run was given.
   *
   * @throws Fault `chain-reorganized` when one differs from a block that the run has read
   */
  add(pins: readonly PinnedBlock[]): void {
    for (const { chainId, block } of pins) {
      const met = this.#byChain.get(chainId) ?? { block, logs: [] }
      if (met.block.hash !== block.hash) throw reorganized(this.#nameOf(chainId))
      this.#byChain.set(chainId, met)
    }
  }

  #nameOf(chainId: number): string {
    return Object.entries(this.#chains).find(([, { id }]) => id === chainId)?.[0] ?? String(chainId)
  }

  /** The end of the run, with the blocks it has read. */
  addedTo(end: TaskEnd): TaskEnd {
    if (end.kind === 'priced') return { ...end, price: { ...end.price, pins: this.all } }
    return end.kind === 'collected' ? { ...end, outcome: { ...end.outcome, pins: this.all } } : end
  }

  get all(): readonly PinnedBlock[] {
    return [...this.#byChain].map(([chainId, { block, logs }]) => ({
      chainId,
      block,
      ...(logs.length > 0 && { logs }),
    }))
  }
}

function reorganized(chain: string): Fault {
  return new Fault('chain-reorganized', `${chain} was reorganized while it was read: the hour is read again`, {
    facts: { chain },
  })
}
