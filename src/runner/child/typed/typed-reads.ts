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
import type { Hex } from '../../../model/block.ts'
import { Fault } from '../../../model/fault.ts'
import type { Hour } from '../../../model/hour.ts'
import { firstChars } from '../../../model/text.ts'
import { collectorTextCharsMax } from '../../limits.ts'
import type { ChainAsOf } from './chain-as-of.ts'
import { revertReason } from './revert-reason.ts'
import { UnfitWord } from './static-outputs.ts'
import { decodedValue, encodedInput, returnsText, type TypedCall } from './typed-calls.ts'
import { type EventFilter, typedLogs } from './typed-logs.ts'

type ReadOnlyMutability = 'pure' | 'view'

/**
 * A chain as a collector sees it in one run: encodes by ABI, reads, decodes. Runs in the collector's thread; `reader`
 * sends the raw reads to the daemon.
 *
 * @param signal aborted at the run's deadline
 * @param chain name of the chain in the configuration
 * @param isNamed whether reads carry the names of their functions, for a recording
 */
export function chainAsOf(
  reader: RawReads,
  hour: Hour,
  signal: AbortSignal,
  chain: string,
  isNamed = false,
): ChainAsOf {
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
    call: ContractFunctionParameters<A, ReadOnlyMutability, F, P> & { readonly from?: Hex | undefined },
  ): Promise<ContractFunctionReturnType<A, ReadOnlyMutability, F, P>>
  function read<const C extends readonly unknown[]>(
    calls: readonly [...MulticallContracts<Narrow<C>, { mutability: ReadOnlyMutability }>],
    options?: { readonly partial?: false | undefined },
  ): Promise<MulticallResults<Narrow<C>, false, { mutability: ReadOnlyMutability }>>
  function read<const C extends readonly unknown[]>(
    calls: readonly [...MulticallContracts<Narrow<C>, { mutability: ReadOnlyMutability }>],
    options: { readonly partial: true },
  ): Promise<MulticallResults<Narrow<C>, true, { mutability: ReadOnlyMutability }>>
  async function read(asked: unknown, options: object = {}): Promise<unknown> {
    const calls = (Array.isArray(asked) ? asked : [asked]) as readonly TypedCall[]
    const answers = await ask(calls.map(call => encoded(chain, call, isNamed)))
    const decode = (answer: ReadAnswer, index: number) => decoded(chain, calls[index], answer)
    if (isPartialIn(options)) return answers.map((answer, index) => settled(() => decode(answer, index)))
    const values = answers.map(decode)
    return Array.isArray(asked) ? values : values[0]
  }

  return {
    block: () => reader.block(hour, signal),
    read,
    async call({ to, data, from }) {
      const sender = from === undefined ? { kind: 'call' as const } : { kind: 'call-from' as const, from }
      const [answer] = await ask([{ ...sender, to, input: data }])
      if (answer?.kind === 'returned') return answer.output
      throw reverted(chain, { address: to, abi: [], functionName: data.slice(0, 10) }, answer?.output ?? '0x')
    },
    async storage(address, slot) {
      const [answer] = await ask([{ kind: 'storage', address, slot: typeof slot === 'bigint' ? slotOf(slot) : slot }])
      if (answer?.kind === 'returned') return answer.output
      throw new Fault('chain-unreachable', `a storage slot of ${address} was not answered`, { facts: { chain } })
    },
    async balance(of) {
      const [answer] = await ask([{ kind: 'balance', address: of }])
      if (answer?.kind === 'returned') return BigInt(answer.output)
      throw new Fault('chain-unreachable', `the balance of ${of} was not answered`, { facts: { chain } })
    },
    // Typed by the events of the filter, as they are decoded.
    logs: ((filter: EventFilter) => typedLogs(reader, hour, filter, signal, chain)) as ChainAsOf['logs'],
  }
}

function encoded(chain: string, call: TypedCall, isNamed: boolean): ReadRequest {
  try {
    const { address: to, from } = call
    const input = encodedInput(call)
    const request =
      from === undefined ? { kind: 'call' as const, to, input } : { kind: 'call-from' as const, from, to, input }
    return isNamed ? { ...request, ...wordsOf(call) } : request
  } catch (error) {
    throw new Fault('collector-threw', `${call.functionName} cannot be called: ${shortMessage(error)}`, {
      facts: factsOf(chain, call),
      fix: 'correct the ABI, the function name or the arguments in the collector',
    })
  }
}

function wordsOf(call: TypedCall): { readonly name: string; readonly returns?: string } {
  const { functionName, args = [] } = call
  const name = firstChars(`${functionName}(${args.map(textOf).join(', ')})`, collectorTextCharsMax)
  const returns = returnsText(call)
  // Cut types could not be parsed.
  return returns === undefined || returns.length > collectorTextCharsMax ? { name } : { name, returns }
}

function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Object.values(value).map(textOf).join(', ')
  return Array.isArray(value) ? `[${parts}]` : `(${parts})`
}

function decoded(chain: string, call: TypedCall | undefined, answer: ReadAnswer): unknown {
  if (!call) throw new Fault('chain-unreachable', `a read of ${chain} was answered twice`, { facts: { chain } })
  if (answer.kind === 'reverted') throw reverted(chain, call, answer.output)
  try {
    return decodedValue(call, answer.output)
  } catch (error) {
    throw undecodable(chain, call, answer.output, error)
  }
}

function reverted(chain: string, call: TypedCall, output: Hex): Fault {
  return new Fault('chain-call-reverted', `${call.functionName} reverted: ${revertReason(call.abi, output)}`, {
    facts: factsOf(chain, call),
    fix: 'check the arguments, and that the contract can answer this at that hour',
  })
}

/** A value or the reason why there is none, in the form of viem's `multicall`. */
function settled(value: () => unknown) {
  try {
    return { status: 'success', result: value() }
  } catch (error) {
    return { status: 'failure', error }
  }
}

/** Whether a list is read in parts. @throws Fault for an unknown option, which would be ignored */
function isPartialIn({ partial = false, ...others }: { readonly partial?: boolean }): boolean {
  const [unknown] = Object.keys(others)
  if (unknown === undefined) return partial
  throw new Fault('collector-threw', `read has no option ${firstChars(unknown, 40)}`, { fix: 'its option is partial' })
}

/** A slot's number as 32 bytes. */
function slotOf(number: bigint): Hex {
  return `0x${number.toString(16).padStart(64, '0')}`
}

function undecodable(chain: string, call: TypedCall, output: Hex, error: unknown): Fault {
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
  const bytes = `${(output.length - 2) / 2} bytes its ABI does not describe`
  const what = error instanceof UnfitWord ? error.message : bytes
  return new Fault('chain-call-undecodable', `${call.functionName} returned ${what}`, {
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
