import { LogList } from '../../chain/log-list.ts'
import type { Chains } from '../../chain/reads.ts'
import type { AsOfBlock, PinnedBlock, PinnedLogs } from '../../model/block.ts'
import { Fault, faultRecord } from '../../model/fault.ts'
import type { ChainQuestion, ChainReply } from '../messages.ts'

interface Met {
  readonly block: AsOfBlock
  readonly logs: PinnedLogs[]
}

/** The block that one run has read of each chain: one for all of its reads. And the logs that it has read there. */
export class RunBlocks {
  readonly #chains: Chains
  readonly #byChain = new Map<number, Met>()

  constructor(chains: Chains) {
    this.#chains = chains
  }

  /** The reply; a fault in its place when it is of another block than an earlier one: a reorg came between. */
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
