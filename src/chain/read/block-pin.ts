import type { AsOfBlock, Hex } from '../../model/block.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure, StateMissing } from '../endpoint/endpoint-failure.ts'
import { isServed, runsNothing, stateCall } from '../endpoint/harmless-calls.ts'
import { failureKindOf, meaningOf } from '../endpoint/rpc-errors.ts'
import type { RpcCall, RpcOutcome } from '../endpoint/wire.ts'
import { headerCall } from '../look-up/as-of-search.ts'
import { type BlockHeader, hexOf, parseHeader } from '../shapes.ts'

/** The part of a block that a call names it by. */
export type NamedBlock = Pick<AsOfBlock, 'number' | 'hash'>

/** The block to read. Its proof may arrive later, as promises; a rejection refuses the answer. */
export interface ReadTarget extends NamedBlock {
  /** Seconds since 1970; a promise while the block's header is under way. */
  readonly timestampSeconds: number | Promise<number>
  /** Absent where only an earlier search saw the header. */
  readonly parentHash?: Hex | undefined | Promise<Hex | undefined>
}

/**
 * Form in which a call names its block. By hash (EIP-1898) no reorg and no load balancer can interfere; by number the
 * answer must certify its block, and the block's header is read with it.
 */
export type BlockReference = 'hash' | 'number'

/** The block parameter of a call. */
export function pinParam({ number, hash }: NamedBlock, pin: BlockReference): unknown {
  return pin === 'hash' ? { blockHash: hash, requireCanonical: true } : hexOf(number)
}

/** Form in which an endpoint takes a block, as far as known: by hash until it is shown not to. */
export function pinOf({ takesHashes: known }: Endpoint): BlockReference {
  return known === false ? 'number' : 'hash'
}

/** A hash that no block has, in the place of one. */
export const noBlock: NamedBlock = { number: 0n, hash: `0x${'f'.repeat(64)}` }

/**
 * Whether an endpoint reads the block that a hash names: it must treat the hash of a block otherwise than one that no
 * block has. Asked once. The first block is on every branch, so a load balancer does not decide the answer.
 *
 * @throws EndpointFailure while the answers leave it open
 */
export async function takesHashes(endpoint: Endpoint, block: NamedBlock, signal: AbortSignal): Promise<boolean> {
  if (endpoint.takesHashes !== undefined) return endpoint.takesHashes
  const [first] = await endpoint.tryCall([headerCall(0n)], signal)
  const hashes = [headerOf(first)?.hash ?? block.hash, noBlock.hash]
  const places = [...hashes.map(hash => pinParam({ ...block, hash }, 'hash')), pinParam(block, 'number')]
  const outcomes = await endpoint.tryCall(places.map(stateCall), signal)
  const [ofBlock, ofNone, ofNumber] = outcomes.map(outcome => refusalOf(endpoint, outcome))
  // Nodes that do not take hashes refuse each in the same words, and these are not about a block that is missing.
  const isTaken = ofNone !== undefined && (ofNone.isUnknownBlock || ofBlock?.words !== ofNone.words)
  if (!isTaken && ofNone && ofNumber) throw ofNumber.failure
  endpoint.takesHashes = isTaken
  return isTaken
}

/** Checks that an endpoint serves the state of a block. @throws EndpointFailure when it does not */
export async function requireState(endpoint: Endpoint, block: NamedBlock, signal: AbortSignal): Promise<void> {
  const [outcome] = await endpoint.tryCall([stateCall(pinParam(block, pinOf(endpoint)))], signal)
  if (outcome instanceof EndpointFailure) throw outcome
  if (outcome?.kind === 'error' && !isServed(outcome)) throw endpoint.failure(outcome.error)
}

/**
 * Checks that answers without a value are not those of a node that has no state of the block any more, and does not say
 * so.
 *
 * @throws StateMissing
 */
export async function requireKept(endpoint: Endpoint, { number }: NamedBlock, signal: AbortSignal): Promise<void> {
  if (!(await runsNothing(endpoint.tryCall, number, signal))) return
  const text = `has no state of block ${number}, though of its last block: calls there are answered with nothing`
  throw new StateMissing(endpoint.host, text)
}

interface BlockRefusal {
  readonly failure: EndpointFailure
  /** Equal for equal refusals, whatever hash they name. */
  readonly words: string
  readonly isUnknownBlock: boolean
}

/** Refusal of a block; undefined when it was read. @throws EndpointFailure that is not about the block */
function refusalOf(endpoint: Endpoint, outcome: RpcOutcome): BlockRefusal | undefined {
  if (outcome instanceof EndpointFailure && outcome.kind !== 'refused') throw outcome
  if (!(outcome instanceof EndpointFailure)) {
    if (outcome.kind === 'result' || meaningOf(outcome.error).kind === 'reverted') return undefined
  }
  const failure = outcome instanceof EndpointFailure ? outcome : endpoint.failure(outcome.error)
  const isUnknownBlock = 'error' in outcome && failureKindOf(outcome.error) === 'unknown-block'
  return { failure, words: failure.reason.replace(/(0x)?[0-9a-f]{64}/gi, ''), isUnknownBlock }
}

/** The header that an outcome holds; undefined when it holds none. */
export function headerOf(outcome: RpcOutcome | undefined): BlockHeader | undefined {
  return outcome && !(outcome instanceof EndpointFailure) && outcome.kind === 'result'
    ? parseHeader(outcome.result)
    : undefined
}

/** The header of a read by number. @throws EndpointFailure when there is none, or when it is of another block */
function requireBlock(endpoint: Endpoint, block: NamedBlock, outcome: RpcOutcome | undefined): BlockHeader {
  if (outcome instanceof EndpointFailure) throw outcome
  if (outcome?.kind === 'error') throw endpoint.failure(outcome.error)
  const header = headerOf(outcome)
  if (header?.hash === block.hash) return header
  throw new EndpointFailure(endpoint.host, `has another block ${block.number} than the as-of block`)
}

/** Sends calls in one batch with the block's header, whose hash must match. @throws EndpointFailure */
export async function callWithHeader(
  endpoint: Endpoint,
  block: NamedBlock,
  calls: readonly RpcCall[],
  signal: AbortSignal,
  answerMsMax?: number,
): Promise<{ readonly header: BlockHeader; readonly outcomes: readonly RpcOutcome[] }> {
  const [header, ...outcomes] = await endpoint.tryCall([headerCall(block.number), ...calls], signal, answerMsMax)
  return { header: requireBlock(endpoint, block, header), outcomes }
}
