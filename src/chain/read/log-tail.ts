import type { Hex } from '../../model/block.ts'
import { isRecord } from '../../model/json.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import type { RpcCall, RpcOutcome } from '../endpoint/wire.ts'
import { headerCall } from '../look-up/as-of-search.ts'
import { parseHeader, parseLogs } from '../shapes.ts'
import { logTailBlocks } from './limits.ts'
import { mayHaveLogs } from './log-bloom.ts'
import type { LogsAsked } from './logs-asked.ts'

/**
 * Checks whether the logs of an hour's last blocks came from a node that lags or is on another branch: logs of a block
 * must be of the chain's own block, and a block without any must have none. Behind a load balancer a header read
 * together with the logs does not prove that. Blocks that the node does not let us check are checked when they are
 * final.
 *
 * @param seen hash of each block with answered logs, as the logs have it
 * @returns the mistake, in words that follow the node's name
 */
export async function mistakeInTail(
  asked: LogsAsked,
  from: bigint,
  seen: ReadonlyMap<bigint, string | undefined>,
): Promise<string | undefined> {
  const { endpoint, asOf } = asked
  // A node hardly lags that far.
  const { head } = endpoint
  if (!head || head.number - asOf.number >= BigInt(logTailBlocks)) return undefined
  const tail = await tailOf(asked, from)
  const other = tail.find(({ number, hash }) => (seen.get(number) ?? hash).toLowerCase() !== hash.toLowerCase())
  if (other) return `answered logs of another block ${other.number} than the chain’s`
  const unsure = tail.filter(({ number, bloom }) => !seen.has(number) && mayHaveLogs(bloom, asked.filter))
  if (unsure.length === 0) return undefined
  const calls = unsure.map(({ hash }) => logsOf(asked, hash))
  const outcomes = await endpoint.callApart(calls, asked.signal)
  const missed = unsure.find((_, index) => (parseLogs(resultOf(outcomes[index])) ?? []).length > 0)
  return missed && `left out the logs of block ${missed.number}`
}

interface TailBlock {
  readonly number: bigint
  readonly hash: Hex
  readonly bloom: unknown
}

/** The last blocks, each the parent of the one before it, down to an unknown one. */
async function tailOf({ endpoint, asOf, signal }: LogsAsked, from: bigint): Promise<TailBlock[]> {
  const count = Math.min(logTailBlocks, Number(asOf.number - from) + 1)
  const numbers = Array.from({ length: count }, (_, index) => asOf.number - BigInt(index))
  const outcomes = await endpoint.callApart(numbers.map(headerCall), signal)
  const tail: TailBlock[] = []
  let expected: Hex = asOf.hash
  for (const outcome of outcomes) {
    const result = resultOf(outcome)
    const header = parseHeader(result)
    if (!header || header.hash !== expected) break
    tail.push({ number: header.number, hash: header.hash, bloom: isRecord(result) ? result['logsBloom'] : undefined })
    if (header.parentHash === undefined) break
    expected = header.parentHash
  }
  return tail
}

function logsOf({ filter: { address, topics } }: LogsAsked, blockHash: Hex): RpcCall {
  return { method: 'eth_getLogs', params: [{ address, topics, blockHash }] }
}

function resultOf(outcome: RpcOutcome | undefined): unknown {
  if (outcome === undefined || outcome instanceof EndpointFailure || outcome.kind === 'error') return undefined
  return outcome.result
}
