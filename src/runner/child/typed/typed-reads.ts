import type {
  Abi,
  ContractFunctionArgs,
  ContractFunctionName,
  ContractFunctionParameters,
  ContractFunctionReturnType,
  MulticallContracts,
  MulticallResults,
  Narrow,
} from 'viem'
import type { RawReads, ReadAnswer, ReadRequest } from '../../../chain/reads.ts'
import type { ChainAsOf } from '../../../collector.ts'
import type { Hex } from '../../../model/block.ts'
import { Fault } from '../../../model/fault.ts'
import type { Hour } from '../../../model/hour.ts'
import { revertReason } from './revert-reason.ts'
import { decodedValue, encodedInput, type TypedCall } from './typed-calls.ts'
import { typedLogs } from './typed-logs.ts'

type ReadOnlyMutability = 'pure' | 'view'

/**
 * A chain as a collector sees it in one run: encodes by ABI, reads, decodes. Runs in the collector's thread; `reader`
 * sends the raw reads to the daemon.
 *
 * @param signal aborted at the run's deadline
 * @param chain name of the chain in the configuration
 */
export function chainAsOf(reader: RawReads, hour: Hour, signal: AbortSignal, chain: string): ChainAsOf {
  const ask = async (requests: readonly ReadRequest[]) => {
    const answers = await reader.read(hour, requests, signal)
    if (answers.length === requests.length) return answers
    throw new Fault('chain-unreachable', `a read of ${chain} was answered in part`, { facts: { chain } })
  }

  function read<
    const A extends readonly unknown[] | Abi,
    F extends ContractFunctionName<A, ReadOnlyMutability>,
    const P extends ContractFunctionArgs<A, ReadOnlyMutability, F>,
  >(
    call: ContractFunctionParameters<A, ReadOnlyMutability, F, P>,
  ): Promise<ContractFunctionReturnType<A, ReadOnlyMutability, F, P>>
  function read<const C extends readonly unknown[]>(
    calls: readonly [...MulticallContracts<Narrow<C>, { mutability: ReadOnlyMutability }>],
  ): Promise<MulticallResults<Narrow<C>, false, { mutability: ReadOnlyMutability }>>
  async function read(asked: unknown): Promise<unknown> {
    const calls = (Array.isArray(asked) ? asked : [asked]) as readonly TypedCall[]
    const answers = await ask(calls.map(call => encoded(chain, call)))
    const values = answers.map((answer, index) => decoded(chain, calls[index], answer))
    return Array.isArray(asked) ? values : values[0]
  }

  return {
    block: () => reader.block(hour, signal),
    read,
    async balance(of) {
      const [answer] = await ask([{ kind: 'balance', address: of }])
      if (answer?.kind === 'returned') return BigInt(answer.output)
      throw new Fault('chain-unreachable', `the balance of ${of} was not answered`, { facts: { chain } })
    },
    logs: filter => typedLogs(reader, hour, filter, signal, chain),
  }
}

function encoded(chain: string, call: TypedCall): ReadRequest {
  try {
    return { kind: 'call', to: call.address, input: encodedInput(call) }
  } catch (error) {
    throw new Fault('collector-threw', `${call.functionName} cannot be called: ${shortMessage(error)}`, {
      facts: factsOf(chain, call),
      fix: 'correct the ABI, the function name or the arguments in the collector',
    })
  }
}

function decoded(chain: string, call: TypedCall | undefined, answer: ReadAnswer): unknown {
  if (!call) throw new Fault('chain-unreachable', `a read of ${chain} was answered twice`, { facts: { chain } })
  if (answer.kind === 'reverted') {
    const reason = revertReason(call.abi, answer.output)
    throw new Fault('chain-call-reverted', `${call.functionName} reverted: ${reason}`, {
      facts: factsOf(chain, call),
      fix: 'check the arguments, and that the contract can answer this at that hour',
    })
  }
  try {
    return decodedValue(call, answer.output)
  } catch {
    throw undecodable(chain, call, answer.output)
  }
}

function undecodable(chain: string, call: TypedCall, output: Hex): Fault {
  const facts = factsOf(chain, call)
  if (output === '0x') {
    return new Fault(
      'chain-call-undecodable',
      `${call.functionName} returned nothing: no contract there at that hour?`,
      {
        facts,
        fix: 'check address and chain; for hours before the contract was deployed, set since: of the collector',
      },
    )
  }
  const bytes = (output.length - 2) / 2
  return new Fault('chain-call-undecodable', `${call.functionName} returned ${bytes} bytes its ABI does not describe`, {
    facts,
    fix: 'check that address and ABI belong together',
  })
}

function factsOf(chain: string, { address, functionName }: TypedCall): Record<string, string> {
  return { chain, contract: String(address), function: String(functionName) }
}

/** viem's message without its links and version. */
function shortMessage(error: unknown): string {
  if (!(error instanceof Error)) return 'no reason given'
  const { shortMessage } = error as Error & { shortMessage?: string }
  return (shortMessage ?? error.message).replace(/\s+/g, ' ')
}
