import { headerCall } from './as-of-search.ts'
import type { Endpoint } from './endpoint.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import { batchReadsMax } from './limits.ts'
import type { AsOfBlock, ReadAnswer, ReadRequest } from './reads.ts'
import { meaningOf } from './rpc-errors.ts'
import { hexOf, parseBytes, parseHeader, parseWord } from './shapes.ts'
import type { RpcAnswer, RpcCall } from './wire.ts'

/** The answer to one read, or why this one alone cannot be had although the node answers others. */
export type ReadOutcome = ReadAnswer | EndpointFailure

/**
 * Reads one by one, each as its own call in a JSON-RPC batch: where Multicall3 is not deployed, and where what an
 * aggregate says of a read is not certain. Each batch holds the block's header, so that its hash proves the block.
 *
 * @throws EndpointFailure
 */
export async function readSingly(
  endpoint: Endpoint,
  block: AsOfBlock,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
): Promise<ReadOutcome[]> {
  const outcomes: ReadOutcome[] = []
  for (let from = 0; from < requests.length; from += batchReadsMax) {
    const part = requests.slice(from, from + batchReadsMax)
    const answers = await callAt(
      endpoint,
      block,
      part.map(request => callOf(request, block)),
      signal,
    )
    outcomes.push(...part.map((request, index) => outcomeOf(endpoint, request, answers[index])))
  }
  return outcomes
}

/** Calls in one batch with the header of the block, whose hash must be the block's. */
export async function callAt(
  endpoint: Endpoint,
  block: AsOfBlock,
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

function callOf(request: ReadRequest, { number }: AsOfBlock): RpcCall {
  if (request.kind === 'balance') return { method: 'eth_getBalance', params: [request.address, hexOf(number)] }
  return { method: 'eth_call', params: [{ to: request.to, data: request.input }, hexOf(number)] }
}

function outcomeOf(endpoint: Endpoint, { kind }: ReadRequest, answer: RpcAnswer | undefined): ReadOutcome {
  if (answer?.kind === 'error') {
    const meaning = kind === 'call' ? meaningOf(answer.error) : { kind: 'node' as const }
    if (meaning.kind === 'reverted') return meaning
    if (meaning.kind === 'limit') return endpoint.failure(answer.error)
    throw endpoint.failure(answer.error)
  }
  const output = kind === 'call' ? parseBytes(answer?.result) : parseWord(answer?.result)
  if (!output) throw new EndpointFailure(endpoint.host, 'answered a read with something that is no value')
  return { kind: 'returned', output }
}
