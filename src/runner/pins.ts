import type { Chains } from '../chain/reads.ts'
import type { Pin } from '../model/block.ts'
import { Fault, faultRecord } from '../model/fault.ts'
import type { ChainReply } from './messages.ts'

/** The block that one run has read of each chain: one for all of its reads. */
export class Pins {
  readonly #chains: Chains
  readonly #byChain = new Map<number, Pin>()

  constructor(chains: Chains) {
    this.#chains = chains
  }

  /** The reply; a fault in its place when it is of another block than an earlier one: a reorg came between. */
  checked(name: string, reply: ChainReply): ChainReply {
    const chainId = this.#chains[name]?.id
    if (reply.kind === 'faulted' || chainId === undefined) return reply
    const first = this.#byChain.get(chainId)
    if (first && first.block.hash !== reply.at.hash) return { kind: 'faulted', fault: faultRecord(reorganized(name)) }
    this.#byChain.set(chainId, { chainId, block: reply.at })
    return reply
  }

  get all(): readonly Pin[] {
    return [...this.#byChain.values()]
  }
}

function reorganized(chain: string): Fault {
  return new Fault('chain-reorganized', `${chain} was reorganized while it was read: the hour is read again`, {
    facts: { chain },
  })
}
