import { LogList } from '../../chain/log-list.ts'
import type { Chains } from '../../chain/reads.ts'
import type { AsOfBlock, PinnedBlock, PinnedLogs } from '../../model/block.ts'
import { Fault, faultRecord } from '../../model/fault.ts'
import type { ChainQuestion, ChainReply } from '../messages.ts'

interface Met {
  readonly block: AsOfBlock
  readonly logs: PinnedLogs[]
}

/** The block one run has read of each chain, the same for all of its reads, and the logs it read there. */
export class RunBlocks {
  readonly #chains: Chains
  readonly #byChain = new Map<number, Met>()

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
