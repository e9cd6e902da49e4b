import type { AsOfBlock } from '../../model/block.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import { isServed, stateCall } from '../endpoint/harmless-calls.ts'
import type { RpcOutcome } from '../endpoint/wire.ts'
import { headerCall } from '../look-up/as-of-search.ts'
import { hexOf, parseHeader } from '../shapes.ts'

/** The part of a block that a call names it by. */
export type NamedBlock = Pick<AsOfBlock, 'number' | 'hash'>

/**
 * Form in which a call names its block. By hash (EIP-1898) no reorg can interfere; by number the block's header must be
 * checked.
 */
export type BlockReference = 'hash' | 'number'

/** The block parameter of a call. */
export function pinParam({ number, hash }: NamedBlock, pin: BlockReference): unknown {
  return pin === 'hash' ? { blockHash: hash, requireCanonical: true } : hexOf(number)
}

const noBlock: NamedBlock = { number: 0n, hash: `0x${'f'.repeat(64)}` }

/**
 * Form in which an endpoint takes the block, tested once: by hash if it answers for this block's and refuses an invalid
 * one. While the test is not conclusive, by number.
 *
 * @throws EndpointFailure when it has another block of that number
 */
async function pinOf(endpoint: Endpoint, block: NamedBlock, signal: AbortSignal): Promise<BlockReference> {
  if (endpoint.pinnedBy) return endpoint.pinnedBy
  const calls = [
    stateCall(pinParam(noBlock, 'hash')),
    stateCall(pinParam(block, 'number')),
    stateCall(pinParam(block, 'hash')),
  ]
  const [header, ...outcomes] = await endpoint.tryCall([headerCall(block.number), ...calls], signal)
  requireBlock(endpoint, block, header)
  const [byNone, byNumber, byHash] = outcomes.map(isServed)
  if (byHash && !byNone) endpoint.pinnedBy = 'hash'
  else if (byNumber) endpoint.pinnedBy = 'number'
  return endpoint.pinnedBy ?? 'number'
}

/** Checks the header of a read by number. @throws EndpointFailure when it is of another block */
export function requireBlock(endpoint: Endpoint, block: NamedBlock, header: RpcOutcome | undefined): void {
  if (header instanceof EndpointFailure) throw header
  if (header?.kind === 'error') throw endpoint.failure(header.error)
  if (parseHeader(header?.result)?.hash === block.hash) return
  throw new EndpointFailure(endpoint.host, `has another block ${block.number} than the as-of block`)
}

/**
 * Makes calls at a block. By number the header is read before and after: an answer is refused if the node changed its
 * branch, or a load balancer its node.
 *
 * @throws EndpointFailure
 */
export async function atBlock<T>(
  endpoint: Endpoint,
  block: NamedBlock,
  signal: AbortSignal,
  ask: (pin: BlockReference) => Promise<T>,
): Promise<T> {
  const pin = await pinOf(endpoint, block, signal)
  if (pin === 'hash') return ask(pin)
  const isThere = async () => {
    const [header] = await endpoint.tryCall([headerCall(block.number)], signal)
    requireBlock(endpoint, block, header)
  }
  const [, answer] = await Promise.all([isThere(), ask(pin)])
  await isThere()
  return answer
}

/** Checks that an endpoint serves the state of a block. @throws EndpointFailure when it does not */
export async function requireState(endpoint: Endpoint, block: NamedBlock, signal: AbortSignal): Promise<void> {
  const [outcome] = await atBlock(endpoint, block, signal, pin =>
    endpoint.tryCall([stateCall(pinParam(block, pin))], signal),
  )
  if (outcome instanceof EndpointFailure) throw outcome
  if (outcome?.kind === 'error' && !isServed(outcome)) throw endpoint.failure(outcome.error)
}
