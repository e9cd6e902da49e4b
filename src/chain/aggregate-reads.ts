import type { Endpoint } from './endpoint.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import { aggregateDigitsMax, aggregateReadsMax } from './limits.ts'
import { aggregated, aggregateInput, multicall3Address } from './multicall.ts'
import type { AsOfBlock, Hex, ReadAnswer, ReadRequest } from './reads.ts'
import { meaningOf } from './rpc-errors.ts'
import { hexOf, parseBytes } from './shapes.ts'
import { type ReadOutcome, readSingly } from './single-reads.ts'

/**
 * Reads at one block, in as few `eth_call`s as fit: one through Multicall3, halved while the node finds it too much,
 * one by one where Multicall3 is not deployed yet.
 *
 * @returns outcomes in the order of the requests
 * @throws EndpointFailure when the endpoint fails: then nothing was read
 */
export async function readAt(
  endpoint: Endpoint,
  block: AsOfBlock,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
): Promise<readonly ReadOutcome[]> {
  const parts = chunks(requests)
  return (await Promise.all(parts.map(part => readPart(endpoint, block, part, signal)))).flat()
}

async function readPart(
  endpoint: Endpoint,
  block: AsOfBlock,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
): Promise<readonly ReadOutcome[]> {
  const aggregate = await readTogether(endpoint, block, requests, signal)
  if (aggregate.kind === 'answers') return withCertainReverts(endpoint, block, requests, aggregate.answers, signal)
  if (aggregate.kind === 'absent' || requests.length === 1) return readSingly(endpoint, block, requests, signal)
  const half = Math.ceil(requests.length / 2)
  const first = await readPart(endpoint, block, requests.slice(0, half), signal)
  return [...first, ...(await readPart(endpoint, block, requests.slice(half), signal))]
}

/**
 * A revert without data may be the contract's, or gas that other reads of the aggregate used up: such reads are made
 * again alone, which tells.
 */
async function withCertainReverts(
  endpoint: Endpoint,
  block: AsOfBlock,
  requests: readonly ReadRequest[],
  answers: readonly ReadAnswer[],
  signal: AbortSignal,
): Promise<readonly ReadOutcome[]> {
  const unsure = requests.filter((_, index) => isUnsure(answers[index]))
  if (unsure.length === 0) return answers
  const alone = await readSingly(endpoint, block, unsure, signal)
  let next = 0
  return answers.map(answer => (isUnsure(answer) ? (alone[next++] ?? answer) : answer))
}

function isUnsure(answer: ReadAnswer | undefined): boolean {
  return answer?.kind === 'reverted' && answer.output === '0x'
}

type Aggregate =
  | { readonly kind: 'answers'; readonly answers: readonly ReadAnswer[] }
  /** No Multicall3 at that block. */
  | { readonly kind: 'absent' }
  /** Too much gas or data for this node. */
  | { readonly kind: 'too-much' }

/** By hash where the node takes it (EIP-1898): then a reorg cannot come between. Found out once per endpoint. */
async function readTogether(
  endpoint: Endpoint,
  block: AsOfBlock,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
): Promise<Aggregate> {
  const input = aggregateInput(requests)
  if (endpoint.pinnedBy) return readPinned(endpoint, block, input, requests.length, endpoint.pinnedBy, signal)
  try {
    return await readPinned(endpoint, block, input, requests.length, 'hash', signal)
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error
    return await readPinned(endpoint, block, input, requests.length, 'number', signal)
  }
}

/** The node answered, but not what was asked: perhaps it does not know how to take the block. */
class RefusedError extends EndpointFailure {}

async function readPinned(
  endpoint: Endpoint,
  block: AsOfBlock,
  input: Hex,
  count: number,
  pin: 'hash' | 'number',
  signal: AbortSignal,
): Promise<Aggregate> {
  const at = pin === 'hash' ? { blockHash: block.hash, requireCanonical: true } : hexOf(block.number)
  const call = { method: 'eth_call', params: [{ to: multicall3Address, data: input }, at] }
  const output = await callOnce(endpoint, call, signal)
  if (output === 'too-much') return { kind: output }
  if (output === '0x') return { kind: 'absent' }
  const aggregate = aggregated(output, count)
  if (!aggregate) throw new RefusedError(endpoint.host, 'answered the reads with something else')
  if (aggregate.timestampSeconds !== BigInt(block.timestampSeconds)) {
    const asked = `at block ${block.number}, timestamp ${block.timestampSeconds}`
    throw new RefusedError(endpoint.host, `read at timestamp ${aggregate.timestampSeconds} when asked ${asked}`)
  }
  endpoint.pinnedBy = pin
  return { kind: 'answers', answers: aggregate.answers }
}

async function callOnce(
  endpoint: Endpoint,
  call: { method: string; params: readonly unknown[] },
  signal: AbortSignal,
): Promise<Hex | 'too-much'> {
  try {
    const [answer] = await endpoint.call([call], signal)
    if (answer?.kind === 'error') {
      // An aggregate lets every read fail alone, so a revert of the whole is about gas or size too.
      if (meaningOf(answer.error).kind !== 'node') return 'too-much'
      throw new RefusedError(endpoint.host, endpoint.failure(answer.error).reason)
    }
    const output = parseBytes(answer?.result)
    if (!output) throw new RefusedError(endpoint.host, 'answered the reads with something that is no value')
    return output
  } catch (error) {
    if (error instanceof EndpointFailure && error.kind === 'too-much') return 'too-much'
    throw error
  }
}

/** Parts small enough for one call each. */
function chunks(requests: readonly ReadRequest[]): ReadRequest[][] {
  const parts: ReadRequest[][] = []
  let digits = Number.POSITIVE_INFINITY
  for (const request of requests) {
    const more = request.kind === 'call' ? request.input.length : 0
    const last = parts.at(-1)
    if (last && last.length < aggregateReadsMax && digits + more <= aggregateDigitsMax) {
      last.push(request)
      digits += more
    } else {
      parts.push([request])
      digits = more
    }
  }
  return parts
}
