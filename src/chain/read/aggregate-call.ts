import type { Hex } from '../../model/block.ts'
import type { SeenBlock } from '../endpoint/certified-code.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import { meaningOf } from '../endpoint/rpc-errors.ts'
import type { RpcAnswer, RpcCall, RpcOutcome } from '../endpoint/wire.ts'
import type { JoinableRead, ReadAnswer } from '../reads.ts'
import { type BlockReference, callWithHeader, type NamedBlock, pinOf, pinParam, takesHashes } from './block-pin.ts'
import { seenByCode } from './code-reads.ts'
import { aggregateInput } from './multicall.ts'
import { aggregated } from './multicall-answer.ts'
import type { ReadScope } from './read-memory.ts'

/** Outcome of sending reads to a node as one call. */
export type Aggregate =
  | { readonly kind: 'answers'; readonly answers: readonly ReadAnswer[] }
  /** The node says that there is no Multicall3 at that block. */
  | { readonly kind: 'absent' }
  /** Too much gas or size for this node. */
  | { readonly kind: 'too-much'; readonly isRevert?: boolean }
  /** Too slow for this node, which is not dead. */
  | { readonly kind: 'slow' }
  /** The node answered something else, for an unknown reason: one of the reads, or any. */
  | {
      readonly kind: 'failed'
      readonly failure: EndpointFailure
      readonly isError: boolean
      readonly isNothing?: boolean
    }

/**
 * Executes reads through Multicall3 in one `eth_call`, at the block and no other: pinned by hash if the endpoint takes
 * it (EIP-1898), else by number together with the block's header. The answer certifies itself by number, timestamp and
 * parent hash of the block it was read from.
 *
 * @param answerMsMax time limit of the request; given when the call has a request of its own
 * @throws EndpointFailure when the endpoint is dead, limits its rate, or answers from another block
 */
export async function callTogether(
  reading: ReadScope,
  requests: readonly JoinableRead[],
  answerMsMax?: number,
): Promise<Aggregate> {
  const { endpoint, block, signal } = reading
  const asked: AggregateSent = { ...reading, requests, answerMsMax }
  const pin = pinOf(endpoint)
  const aggregate = await callPinned(asked, pin).catch((error: unknown) => {
    if (error instanceof EndpointFailure && error.kind === 'wrong-block') return error
    throw error
  })
  const failure = aggregate instanceof EndpointFailure ? aggregate : aggregate.kind === 'failed' && aggregate.failure
  const isDoubtful = failure && (failure.kind === 'wrong-block' || failure.kind === 'refused')
  if (pin === 'hash' && isDoubtful && !(await takesHashes(endpoint, block, signal))) return callPinned(asked, 'number')
  if (aggregate instanceof EndpointFailure) throw aggregate
  return aggregate
}

interface AggregateSent extends ReadScope {
  readonly requests: readonly JoinableRead[]
  readonly answerMsMax: number | undefined
}

async function callPinned(asked: AggregateSent, pin: BlockReference): Promise<Aggregate> {
  const { endpoint, block, requests, memory, signal } = asked
  const { output, parentHash = block.parentHash } = await outputOf(asked, pin)
  if (typeof output !== 'string') return output
  if (output === '0x') {
    if (!memory.isPresentAt(block.number)) return { kind: 'absent' }
    return { ...failed(endpoint, 'answered the reads with nothing'), isNothing: true }
  }
  const aggregate = aggregated(output, requests.length)
  if (!aggregate) return failed(endpoint, 'answered the reads with something else')
  const askAt = (at: NamedBlock) => seenAt(asked, at)
  const askEvm = (at: NamedBlock) => seenByCode(asked, at)
  const read = { endpoint, block: { ...block, parentHash }, pin, signal, askAt, askEvm }
  await memory.aggregates.certify(read, aggregate.seen)
  memory.sawPresent(block.number)
  return { kind: 'answers', answers: aggregate.answers }
}

/** The block that an empty aggregate sees at a block, named by its hash. */
async function seenAt({ endpoint, memory, signal }: ReadScope, at: NamedBlock): Promise<SeenBlock | undefined> {
  const params = [{ to: memory.multicall, data: aggregateInput([], memory.multicall) }, pinParam(at, 'hash')]
  const [outcome] = await endpoint.tryCall([{ method: 'eth_call', params }], signal)
  if (!outcome || outcome instanceof EndpointFailure || outcome.kind === 'error') return undefined
  return isHexStart(outcome.result) ? aggregated(outcome.result, 0)?.seen : undefined
}

function failed({ host }: Endpoint, reason: string): Extract<Aggregate, { kind: 'failed' }> {
  return { kind: 'failed', failure: new EndpointFailure(host, reason, 'refused'), isError: false }
}

interface AggregateOutput {
  readonly output: Hex | Aggregate
  /** Of the header that was read with it. */
  readonly parentHash?: Hex | undefined
}

async function outputOf(asked: AggregateSent, pin: BlockReference): Promise<AggregateOutput> {
  const { endpoint } = asked
  try {
    const { answer, parentHash } = await answerOf(asked, pin)
    if (answer?.kind === 'error') {
      // An aggregate lets every read fail alone, so a revert of the whole is about gas or size, too.
      const meaning = meaningOf(answer.error).kind
      if (meaning !== 'node') return { output: { kind: 'too-much', isRevert: meaning === 'reverted' } }
      return { output: { kind: 'failed', failure: endpoint.failure(answer.error), isError: true } }
    }
    const output = answer?.result
    if (isHexStart(output)) return { output, parentHash }
    return { output: failed(endpoint, 'answered the reads with something that is not a value') }
  } catch (error) {
    if (!(error instanceof EndpointFailure)) throw error
    if (error.kind === 'too-much' || error.kind === 'slow') return { output: { kind: error.kind } }
    if (error.kind === 'refused') return { output: { kind: 'failed', failure: error, isError: true } }
    throw error
  }
}

/** Whether an output looks like hex; its digits are checked when they are parsed. */
function isHexStart(output: unknown): output is Hex {
  return typeof output === 'string' && output.startsWith('0x')
}

/** The answer, by number with the parent hash of the block's header, whose hash must be the block's. */
async function answerOf(
  { endpoint, block, requests, memory, signal, answerMsMax }: AggregateSent,
  pin: BlockReference,
): Promise<{ answer: RpcAnswer | undefined; parentHash?: Hex | undefined }> {
  const at = pinParam(block, pin)
  const params = [{ to: memory.multicall, data: aggregateInput(requests, memory.multicall) }, at]
  const calls: RpcCall[] = [{ method: 'eth_call', params }]
  if (pin === 'number') {
    const { header, outcomes } = await callWithHeader(endpoint, block, calls, signal, answerMsMax)
    return { answer: answered(outcomes[0]), parentHash: header.parentHash }
  }
  return { answer: answered((await endpoint.tryCall(calls, signal, answerMsMax))[0]) }
}

function answered(outcome: RpcOutcome | undefined): RpcAnswer | undefined {
  if (outcome instanceof EndpointFailure) throw outcome
  return outcome
}
