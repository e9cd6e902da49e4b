import type { AsOfBlock } from '../../model/block.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import { meaningOf } from '../endpoint/rpc-errors.ts'
import type { LogFilter, RawLog } from '../reads.ts'
import { hexOf, parseLogs } from '../shapes.ts'
import { callAt } from './single-reads.ts'

/**
 * Logs from block `from` to `to`, both included, oldest first. A range that the node finds too large is halved.
 *
 * @throws EndpointFailure
 */
export async function readLogs(
  endpoint: Endpoint,
  from: bigint,
  to: AsOfBlock,
  filter: LogFilter,
  signal: AbortSignal,
): Promise<readonly RawLog[]> {
  const logs = await readRange(endpoint, from, to.number, to, filter, signal)
  return [...logs].sort((a, b) => Number(a.blockNumber - b.blockNumber) || a.logIndex - b.logIndex)
}

async function readRange(
  endpoint: Endpoint,
  from: bigint,
  to: bigint,
  asOf: AsOfBlock,
  filter: LogFilter,
  signal: AbortSignal,
): Promise<readonly RawLog[]> {
  if (from > to) return []
  const { address, topics } = filter
  const range = { address, topics, fromBlock: hexOf(from), toBlock: hexOf(to) }
  const [answer] = await callAt(endpoint, asOf, [{ method: 'eth_getLogs', params: [range] }], signal)
  if (answer?.kind === 'error') {
    if (meaningOf(answer.error).kind !== 'limit' || from === to) throw endpoint.failure(answer.error)
    const middle = (from + to) / 2n
    const first = await readRange(endpoint, from, middle, asOf, filter, signal)
    return [...first, ...(await readRange(endpoint, middle + 1n, to, asOf, filter, signal))]
  }
  const logs = parseLogs(answer?.result)
  if (!logs?.every(log => log.blockNumber >= from && log.blockNumber <= to)) {
    throw new EndpointFailure(endpoint.host, 'answered something else than the logs of the range')
  }
  return logs
}
