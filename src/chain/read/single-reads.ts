import type { Hex } from '../../model/block.ts'
import type { Fault } from '../../model/fault.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure, ReadFailure } from '../endpoint/endpoint-failure.ts'
import { isServed, stateCall } from '../endpoint/harmless-calls.ts'
import { meaningOf } from '../endpoint/rpc-errors.ts'
import type { RpcAnswer, RpcCall, RpcOutcome } from '../endpoint/wire.ts'
import type { ReadAnswer, ReadRequest } from '../reads.ts'
import { parseBytes, parseWord } from '../shapes.ts'
import { type BlockReference, callWithHeader, type NamedBlock, noBlock, pinParam, takesHashes } from './block-pin.ts'
import {
  certified,
  certifiedOf,
  codeCall,
  codeWaysOf,
  failureOf,
  harmless,
  readInCode,
  requireAlive,
  sent,
} from './code-reads.ts'
import { isUnsure } from './parts.ts'
import type { CodeWay, CodeWays, ReadScope } from './read-memory.ts'

/** Answer to one read, or why it failed although others succeed: a failure of one endpoint, or a Fault of all. */
export type ReadOutcome = ReadAnswer | EndpointFailure | Fault

/** Whether a read was answered, a revert included. */
export function isAnswer(outcome: ReadOutcome | undefined): outcome is ReadAnswer {
  return outcome !== undefined && !(outcome instanceof Error)
}

/**
 * Executes reads one by one, each as its own call of a JSON-RPC batch, all batches in one turn: where Multicall3 is not
 * deployed, and where an aggregate's answer is not certain. A failed read does not affect the others. Every answer
 * carries the certificate of its block, or is pinned by a hash that the endpoint was shown to honour.
 *
 * @param answerMsMax time limit of each read, which is then a request of its own, so that a slow one delays no other
 * @throws EndpointFailure when the endpoint is dead, has another block, or cannot show which block it reads
 */
export async function readOneByOne(
  reading: ReadScope,
  requests: readonly ReadRequest[],
  answerMsMax?: number,
): Promise<readonly ReadOutcome[]> {
  const ways = await codeWaysOf(reading)
  const way = await certifyingWay(reading, ways)
  const isInCode = requests.map(request => way !== undefined && canBeInCode(reading, way, request))
  const [inCode, direct] = [
    requests.filter((_, place) => isInCode[place]),
    requests.filter((_, place) => !isInCode[place]),
  ]
  const [ofCode, ofDirect] = await Promise.all([
    way && inCode.length > 0 ? readInCode(reading, way, inCode, answerMsMax) : [],
    direct.length > 0 ? readDirectly(reading, { ways, answerMsMax }, direct) : [],
  ])
  const [certified, pinned] = [ofCode.values(), ofDirect.values()]
  const outcomes = isInCode.flatMap(inside => (inside ? certified : pinned).next().value ?? [])
  const isUnsureAt = requests.map((request, place) => {
    const outcome = outcomes[place]
    return isInCode[place] === true && isAnswer(outcome) && isUnsure(outcome) && !reading.memory.isKnownRevert(request)
  })
  const unsure = requests.filter((_, place) => isUnsureAt[place])
  // Alone and without code around it, the node says whether the contract or the gas ended it.
  const alone = unsure.length > 0 ? await readDirectly(reading, { ways, answerMsMax, isRevert: true }, unsure) : []
  const again = alone.values()
  return outcomes.map((outcome, place) => (isUnsureAt[place] ? (again.next().value ?? outcome) : outcome))
}

/** The code that certifies reads; undefined where reads are pinned by hash alone. @throws EndpointFailure if neither */
async function certifyingWay({ endpoint, block, signal }: ReadScope, ways: CodeWays): Promise<CodeWay | undefined> {
  if (ways.override) return 'override'
  if (ways.create) return 'create'
  if (await takesHashes(endpoint, block, signal)) return undefined
  const reason = 'cannot show which block it reads: it takes neither the hash of a block nor code that certifies it'
  throw new EndpointFailure(endpoint.host, reason, 'wrong-block')
}

/**
 * Whether code can make a read as it is. Code in the place of a sender hides the sender's own: where the sender matters
 * and hashes are taken, the read is pinned by hash.
 */
function canBeInCode({ endpoint, memory }: ReadScope, way: CodeWay, request: ReadRequest): boolean {
  if (request.kind === 'call') return request.to.toLowerCase() !== memory.multicall.toLowerCase()
  if (request.kind === 'balance') return !memory.balancesApart
  return way === 'override' && (request.kind === 'storage' || endpoint.takesHashes === false)
}

interface DirectReads {
  readonly ways: CodeWays
  /** Time limit of each read in a request of its own; absent when they share requests. */
  readonly answerMsMax: number | undefined
  /** Whether a certificate says already that they revert, so that no other is needed for that. */
  readonly isRevert?: boolean
}

const readsNoBlock = 'answers for a hash that no block has: what it reads is not certain to be of the block asked for'

/**
 * Executes reads as calls of their own, pinned by hash. The certificate of a neighbour in each request must agree where
 * the endpoint gives one, else each request has a call at a hash that no block has, which must be refused. Where hashes
 * are not taken no answer is believed.
 */
async function readDirectly(
  reading: ReadScope,
  { ways, answerMsMax, isRevert = false }: DirectReads,
  requests: readonly ReadRequest[],
): Promise<readonly ReadOutcome[]> {
  const { endpoint, block, memory, signal } = reading
  const isPinned = await takesHashes(endpoint, block, signal)
  const pin = isPinned ? 'hash' : 'number'
  const way = ways.override ? 'override' : ways.create ? 'create' : undefined
  const witness = way ? codeCall(reading, way, harmless, pin) : stateCall(pinParam(noBlock, 'hash'))
  const calls = requests.map(request => directCall(request, block, pin, memory.multicall))
  const { outcomes, witnesses } = await sent(reading, pin, calls, answerMsMax, isPinned ? witness : undefined)
  for (const answer of witnesses) {
    const found = certifiedOf(answer)
    if (found) await certified(reading, pin, undefined, found.seen)
    // Another node at the same address may not take hashes.
    if (!way && isServed(answer)) throw new EndpointFailure(endpoint.host, readsNoBlock, 'wrong-block')
  }
  requireAlive(outcomes)
  return requests.map((request, place) => {
    const outcome = outcomeOf(endpoint, request, outcomes[place])
    if (isPinned || !isAnswer(outcome) || (isRevert && outcome.kind === 'reverted')) return outcome
    return new ReadFailure(endpoint.host, 'does not take the hash of a block: this read is not certain', 'wrong-block')
  })
}

/** The call of a read. Unless it has a sender of its own, it is the same as within an aggregate: a view may depend on it. */
function directCall(request: ReadRequest, block: NamedBlock, pin: BlockReference, multicall: Hex): RpcCall {
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

/** Sends calls in one batch with the block's header, whose hash must match. @throws EndpointFailure */
export async function callAt(
  endpoint: Endpoint,
  block: NamedBlock,
  calls: readonly RpcCall[],
  signal: AbortSignal,
): Promise<readonly RpcAnswer[]> {
  const { outcomes } = await callWithHeader(endpoint, block, calls, signal)
  return outcomes.map(outcome => {
    if (outcome instanceof EndpointFailure) throw outcome
    return outcome
  })
}

function outcomeOf(endpoint: Endpoint, { kind }: ReadRequest, outcome: RpcOutcome | undefined): ReadOutcome {
  const isCall = kind === 'call' || kind === 'call-from'
  if (outcome instanceof EndpointFailure) return failureOf(endpoint, outcome, 'node')
  if (outcome?.kind === 'error') {
    const meaning = isCall ? meaningOf(outcome.error) : { kind: 'node' as const }
    return meaning.kind === 'reverted' ? meaning : failureOf(endpoint, outcome, meaning.kind)
  }
  const output = isCall ? parseBytes(outcome?.result) : parseWord(outcome?.result)
  return output
    ? { kind: 'returned', output }
    : new ReadFailure(endpoint.host, 'answered a read with something that is not a value', 'refused')
}
