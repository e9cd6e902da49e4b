import type { AsOfBlock } from '../../model/block.ts'
import type { Fault } from '../../model/fault.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import { meaningOf } from '../endpoint/rpc-errors.ts'
import type { RpcAnswer, RpcCall } from '../endpoint/wire.ts'
import { batchReadsMax } from '../limits.ts'
import { headerCall } from '../look-up/as-of-search.ts'
import type { ReadAnswer, ReadRequest } from '../reads.ts'
import { hexOf, parseBytes, parseHeader, parseWord } from '../shapes.ts'

/**
 * The answer to one read, or why this one alone cannot be had although others can: a failure of the endpoint that was
 * asked, a Fault once all were.
 */
export type ReadOutcome = ReadAnswer | EndpointFailure | Fault

/**
 * Reads one by one, each as its own call in a JSON-RPC batch: where Multicall3 is not deployed, and where what an
 * aggregate says of a read is not certain. Each batch holds the block's header, so that its hash proves the block. All
 * batches are asked for in the same turn.
 *
 * @throws EndpointFailure
 */
export async function readSingly(
  endpoint: Endpoint,
  block: Pick<AsOfBlock, 'number' | 'hash'>,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
): Promise<readonly ReadOutcome[]> {
  const read = async (part: readonly ReadRequest[]) => {
    const calls = part.map(request => callOf(request, block))
    const answers = await callAt(endpoint, block, calls, signal)
    return part.map((request, index) => outcomeOf(endpoint, request, answers[index]))
  }
  const starts = Array.from({ length: Math.ceil(requests.length / batchReadsMax) }, (_, index) => index * batchReadsMax)
  return (await Promise.all(starts.map(start => read(requests.slice(start, start + batchReadsMax))))).flat()
}

/** Calls in one batch with the header of the block, whose hash must be the block's. */
export async function callAt(
  endpoint: Endpoint,
  block: Pick<AsOfBlock, 'number' | 'hash'>,
  calls: readonly RpcCall[],
  signal: AbortSignal,
): Promise<readonly RpcAnswer[]> {
  const [header, ...answers] = await endpoint.call([headerCall(block.number), ...calls], signal)
  if (header?.kind === 'error') throw endpoint.failure(header.error)
  if (parseHeader(header?.result)?.hash !== block.hash) {
    throw new EndpointFailure(endpoint.host, `has another block ${block.number} than the as-of block`)
  }
  return answers
}

function callOf(request: ReadRequest, { number }: Pick<AsOfBlock, 'number'>): RpcCall {
  if (request.kind === 'balance') return { method: 'eth_getBalance', params: [request.address, hexOf(number)] }
  return { method: 'eth_call', params: [{ to: request.to, data: request.input }, hexOf(number)] }
}

function outcomeOf(endpoint: Endpoint, { kind }: ReadRequest, answer: RpcAnswer | undefined): ReadOutcome {
  if (answer?.kind === 'error') {
    const meaning = kind === 'call' ? meaningOf(answer.error) : { kind: 'node' as const }
    if (meaning.kind === 'reverted') return meaning
    if (meaning.kind === 'limit') {
      return new EndpointFailure(endpoint.host, endpoint.failure(answer.error).reason, 'too-much')
    }
    throw endpoint.failure(answer.error)
  }
  const output = kind === 'call' ? parseBytes(answer?.result) : parseWord(answer?.result)
  if (!output) throw new EndpointFailure(endpoint.host, 'answered a read with something that is no value')
  return { kind: 'returned', output }
}
