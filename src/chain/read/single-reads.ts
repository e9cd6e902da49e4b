import type { AsOfBlock, Hex } from '../../model/block.ts'
import type { Fault } from '../../model/fault.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure, type FailureKind, ReadFailure } from '../endpoint/endpoint-failure.ts'
import { failureKindOf, meaningOf } from '../endpoint/rpc-errors.ts'
import type { RpcAnswer, RpcCall, RpcOutcome } from '../endpoint/wire.ts'
import { headerCall } from '../look-up/as-of-search.ts'
import type { ReadAnswer, ReadRequest } from '../reads.ts'
import { parseBytes, parseWord } from '../shapes.ts'
import { atBlock, type BlockReference, type NamedBlock, pinParam, requireBlock } from './block-pin.ts'
import { batchReadsMax } from './limits.ts'

/** Answer to one read, or why it failed although others succeed: a failure of one endpoint, or a Fault of all. */
export type ReadOutcome = ReadAnswer | EndpointFailure | Fault

/** Whether a read was answered, a revert included. */
export function isAnswer(outcome: ReadOutcome | undefined): outcome is ReadAnswer {
  return outcome !== undefined && !(outcome instanceof Error)
}

/**
 * Executes reads one by one, each as its own call of a JSON-RPC batch, all batches in one turn: where Multicall3 is not
 * deployed, and where an aggregate's answer is not certain. A failed read does not affect the others.
 *
 * @param multicall the sender of calls, as within an aggregate
 * @throws EndpointFailure when the endpoint is dead or has another block
 */
export function readOneByOne(
  endpoint: Endpoint,
  block: NamedBlock,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
  multicall: Hex,
): Promise<readonly ReadOutcome[]> {
  const starts = Array.from({ length: Math.ceil(requests.length / batchReadsMax) }, (_, index) => index * batchReadsMax)
  return atBlock(endpoint, block, signal, async pin => {
    const calls = requests.map(request => callOf(request, block, pin, multicall))
    const parts = starts.map(start => endpoint.tryCall(calls.slice(start, start + batchReadsMax), signal))
    return outcomesOf(endpoint, requests, (await Promise.all(parts)).flat())
  })
}

/** As `readOneByOne`, each in a request of its own, so that a slow read delays no other. @throws EndpointFailure */
export function readEachAlone(
  endpoint: Endpoint,
  block: NamedBlock,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
  answerMsMax: number,
  multicall: Hex,
): Promise<readonly ReadOutcome[]> {
  return atBlock(endpoint, block, signal, async pin => {
    const asked = requests.map(request =>
      endpoint.tryCall([callOf(request, block, pin, multicall)], signal, answerMsMax),
    )
    return outcomesOf(endpoint, requests, (await Promise.all(asked)).flat())
  })
}

/** Sends calls in one batch with the block's header, whose hash must match. @throws EndpointFailure */
export async function callAt(
  endpoint: Endpoint,
  block: Pick<AsOfBlock, 'number' | 'hash'>,
  calls: readonly RpcCall[],
  signal: AbortSignal,
  answerMsMax?: number,
): Promise<readonly RpcAnswer[]> {
  const [header, ...outcomes] = await endpoint.tryCall([headerCall(block.number), ...calls], signal, answerMsMax)
  requireBlock(endpoint, block, header)
  return outcomes.map(outcome => {
    if (outcome instanceof EndpointFailure) throw outcome
    return outcome
  })
}

/** The call of a read. Unless it has a sender of its own, it is the same as within an aggregate: a view may depend on it. */
function callOf(request: ReadRequest, block: NamedBlock, pin: BlockReference, multicall: Hex): RpcCall {
  const at = pinParam(block, pin)
  switch (request.kind) {
    case 'balance':
      return { method: 'eth_getBalance', params: [request.address, at] }
    case 'storage':
      return { method: 'eth_getStorageAt', params: [request.address, request.slot, at] }
    case 'call':
    case 'call-from': {
      const from = request.kind === 'call' ? multicall : request.from
      return { method: 'eth_call', params: [{ from, to: request.to, data: request.input }, at] }
    }
  }
}

/** Failures that are not of one call: the endpoint cannot answer any read now. */
const ofEndpoint: ReadonlySet<FailureKind> = new Set(['unreachable', 'wrong-id', 'rate'])

function outcomesOf(
  endpoint: Endpoint,
  requests: readonly ReadRequest[],
  outcomes: readonly RpcOutcome[],
): readonly ReadOutcome[] {
  const dead = outcomes.find(outcome => outcome instanceof EndpointFailure && ofEndpoint.has(outcome.kind))
  const isSomeAnswered = outcomes.some(outcome => !(outcome instanceof EndpointFailure))
  if (dead instanceof EndpointFailure && !isSomeAnswered) throw dead
  return requests.map((request, index) => outcomeOf(endpoint, request, outcomes[index]))
}

function outcomeOf(endpoint: Endpoint, { kind }: ReadRequest, outcome: RpcOutcome | undefined): ReadOutcome {
  const { host } = endpoint
  const isCall = kind === 'call' || kind === 'call-from'
  if (outcome instanceof EndpointFailure) return new ReadFailure(host, outcome.reason, outcome.kind, outcome.retryAtMs)
  if (outcome?.kind === 'error') {
    const meaning = isCall ? meaningOf(outcome.error) : { kind: 'node' as const }
    if (meaning.kind === 'reverted') return meaning
    const { reason } = endpoint.failure(outcome.error)
    return new ReadFailure(host, reason, meaning.kind === 'limit' ? 'too-much' : failureKindOf(outcome.error))
  }
  const output = isCall ? parseBytes(outcome?.result) : parseWord(outcome?.result)
  return output
    ? { kind: 'returned', output }
    : new ReadFailure(host, 'answered a read with something that is not a value', 'refused')
}
