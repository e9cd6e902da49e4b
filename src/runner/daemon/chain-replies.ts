import type { Chains } from '../../chain/reads.ts'
import { Fault, faultRecord } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { ChainQuestion, ChainReply } from '../messages.ts'
import { unknownChain } from '../question.ts'

/** Answers a child's question from the daemon's chains. Never rejects: a failure is a reply, too. */
export async function replyFromChain(
  chains: Chains,
  name: string,
  hour: Hour,
  question: ChainQuestion,
  signal: AbortSignal,
): Promise<ChainReply> {
  try {
    const chain = Object.hasOwn(chains, name) ? chains[name] : undefined
    if (!chain) throw unknownChain(name, Object.keys(chains))
    switch (question.kind) {
      case 'block':
        return { kind: 'block', at: await chain.block(hour, signal) }
      case 'read':
        return { kind: 'read', ...(await chain.read(hour, question.requests, signal)) }
      case 'logs': {
        const { at, value } = await chain.logs(hour, question.filter, signal)
        return { kind: 'logs', at, value: value.pieces }
      }
    }
  } catch (error) {
    return { kind: 'faulted', fault: faultRecord(chainFault(error, name)) }
  }
}

/**
 * The Fault of an error. Other errors are named only by their class: an RPC library's message may hold the endpoint's
 * URL.
 */
function chainFault(error: unknown, chain: string): Fault {
  if (error instanceof Fault) return error
  const kind = error instanceof Error ? error.name : typeof error
  return new Fault('chain-unreachable', `reading ${chain} failed`, { facts: { error: kind } })
}
