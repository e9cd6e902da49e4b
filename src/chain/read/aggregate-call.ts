import type { AsOfBlock, Hex } from '../../model/block.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import { meaningOf } from '../endpoint/rpc-errors.ts'
import type { RpcCall } from '../endpoint/wire.ts'
import type { ReadAnswer } from '../reads.ts'
import { hexOf } from '../shapes.ts'
import { type BlockReference, pinParam } from './block-pin.ts'
import { type Aggregated, aggregated } from './multicall-answer.ts'
import type { ReadMemory } from './read-memory.ts'
import { callAt } from './single-reads.ts'
import type { AggregateCall } from './written-aggregate.ts'

/** The block to read. Its proof may arrive later, as a promise of its timestamp; a rejection refuses the answer. */
export interface ReadTarget extends Pick<AsOfBlock, 'number' | 'hash'> {
  /** Seconds since 1970; a promise while the block's header is under way. */
  readonly timestampSeconds: number | Promise<number>
}

/** Outcome of sending reads to a node as one call. */
export type Aggregate =
  | { readonly kind: 'answers'; readonly answers: readonly ReadAnswer[] }
  /** The node says that there is no Multicall3 at that block. */
  | { readonly kind: 'absent' }
  /** Too much gas or size for this node. */
  | { readonly kind: 'too-much' }
  /** Too slow for this node, which is not dead. */
  | { readonly kind: 'slow' }
  /** The node answered something else, for an unknown reason: one of the reads, or any. */
  | { readonly kind: 'failed'; readonly failure: EndpointFailure; readonly isError: boolean }

/**
 * Executes reads through Multicall3 in one `eth_call`, at the block and no other: pinned by hash if the endpoint
 * accepts it (EIP-1898, tested once), else by number together with the block's header. The answer certifies itself by
 * the number and the timestamp of the block it was read from.
 *
 * @param answerMsMax time limit of the request; given when the call has a request of its own
 * @throws EndpointFailure when the endpoint is dead, limits its rate, or answers from another block
 */
export async function callTogether(
  endpoint: Endpoint,
  block: ReadTarget,
  call: AggregateCall,
  memory: ReadMemory,
  signal: AbortSignal,
  answerMsMax?: number,
): Promise<Aggregate> {
  const asked: AggregateSent = { endpoint, block, call, memory, signal, answerMsMax }
  if (endpoint.pinnedBy) return callPinned(asked, endpoint.pinnedBy)
  try {
    const aggregate = await callPinned(asked, 'hash')
    return aggregate.kind === 'failed' ? await callPinned(asked, 'number') : aggregate
  } catch (error) {
    if (!(error instanceof OtherBlockError)) throw error
    return callPinned(asked, 'number')
  }
}

interface AggregateSent {
  readonly endpoint: Endpoint
  readonly block: ReadTarget
  readonly call: AggregateCall
  readonly memory: ReadMemory
  readonly signal: AbortSignal
  readonly answerMsMax: number | undefined
}

/** The node answered from another block: it may not support the way the block was named. */
class OtherBlockError extends EndpointFailure {}

async function callPinned(asked: AggregateSent, pin: BlockReference): Promise<Aggregate> {
  const { endpoint, block, call, memory } = asked
  const output = await outputOf(asked, pin)
  if (typeof output !== 'string') return output
  if (output === '0x') {
    return memory.isPresentAt(block.number) ? failed(endpoint, 'answered the reads with nothing') : { kind: 'absent' }
  }
  const aggregate = aggregated(output, call.requests.length)
  if (!aggregate) return failed(endpoint, 'answered the reads with something else')
  await certify(asked, aggregate)
  endpoint.pinnedBy = pin
  memory.sawPresent(block.number)
  return { kind: 'answers', answers: aggregate.answers }
}

function failed({ host }: Endpoint, reason: string): Aggregate {
  return { kind: 'failed', failure: new EndpointFailure(host, reason, 'refused'), isError: false }
}

async function outputOf(asked: AggregateSent, pin: BlockReference): Promise<Hex | Aggregate> {
  const { endpoint } = asked
  try {
    const answer = await answerOf(asked, pin)
    if (answer?.kind === 'error') {
      // An aggregate lets every read fail alone, so a revert of the whole is about gas or size, too.
      if (meaningOf(answer.error).kind !== 'node') return { kind: 'too-much' }
      return { kind: 'failed', failure: endpoint.failure(answer.error), isError: true }
    }
    const output = answer?.result
    return isHexStart(output) ? output : failed(endpoint, 'answered the reads with something that is not a value')
  } catch (error) {
    if (!(error instanceof EndpointFailure)) throw error
    if (error.kind === 'too-much' || error.kind === 'slow') return { kind: error.kind }
    if (error.kind === 'refused') return { kind: 'failed', failure: error, isError: true }
    throw error
  }
}

/** Whether an output looks like hex; its digits are checked when they are parsed. */
function isHexStart(output: unknown): output is Hex {
  return typeof output === 'string' && output.startsWith('0x')
}

/** The verified answer. By hash no reorg can interfere; by number the header's hash must be the block's. */
async function answerOf({ endpoint, block, call, memory, signal, answerMsMax }: AggregateSent, pin: BlockReference) {
  const at = pinParam(block, pin)
  const written = { ...call.start, end: `${JSON.stringify(at)}]}` }
  const params = [{ to: memory.multicall, data: call.input }, at]
  const calls: RpcCall[] = [{ method: 'eth_call', params, written }]
  if (pin === 'number') return (await callAt(endpoint, block, calls, signal, answerMsMax))[0]
  const [outcome] = await endpoint.tryCall(calls, signal, answerMsMax)
  if (outcome instanceof EndpointFailure) throw outcome
  return outcome
}

/** Rejects an answer that was read from another block. */
async function certify(asked: AggregateSent, { blockNumber, timestampSeconds }: Aggregated): Promise<void> {
  const { endpoint, block, memory } = asked
  const ownSeconds = await block.timestampSeconds
  const sought = () => `when asked at block ${block.number}, timestamp ${ownSeconds}`
  if (timestampSeconds !== BigInt(ownSeconds)) {
    throw new OtherBlockError(endpoint.host, `read at timestamp ${timestampSeconds} ${sought()}`)
  }
  if (!memory.hasOwnNumber || blockNumber === block.number) return
  if (!(await isArbitrum(asked))) throw new OtherBlockError(endpoint.host, `read at block ${blockNumber} ${sought()}`)
  memory.hasOwnNumber = false
}

/** Chains of Arbitrum's family have a contract (ArbSys) at this address, others none. */
const arbSys: Hex = '0x0000000000000000000000000000000000000064'

async function isArbitrum({ endpoint, block, signal }: AggregateSent): Promise<boolean> {
  const call = { method: 'eth_getCode', params: [arbSys, hexOf(block.number)] }
  const [code] = await callAt(endpoint, block, [call], signal)
  return code?.kind === 'result' && code.result === '0xfe'
}
