import type { RecordedRead } from '../../testing/recording.ts'

/** A block number as nodes write it. */
const quantity = (number: number) => `0x${number.toString(16)}`

/**
 * A read as a JSON-RPC request, which any tool can send to any node of the chain: without an address.
 *
 * @param block number of the as-of block
 * @param after number of the block after which logs count: that of the hour before
 */
export function rpcLine(recorded: RecordedRead, block: number, after: number | undefined): string {
  const [method, ...params] = callOf(recorded, quantity(block), after === undefined ? undefined : quantity(after + 1))
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

function callOf(recorded: RecordedRead, at: string, from: string | undefined): readonly unknown[] {
  if ('logs' in recorded) return ['eth_getLogs', { ...recorded.logs, ...(from && { fromBlock: from }), toBlock: at }]
  const { read } = recorded
  switch (read.kind) {
    case 'call':
      return ['eth_call', { to: read.to, data: read.input }, at]
    case 'call-from':
      return ['eth_call', { from: read.from, to: read.to, data: read.input }, at]
    case 'balance':
      return ['eth_getBalance', read.address, at]
    case 'storage':
      return ['eth_getStorageAt', read.address, read.slot, at]
  }
}

/** A read in words: `totalAssets() of 0x…`. */
export function readWords(recorded: RecordedRead): string {
  if ('logs' in recorded) return `logs of ${[recorded.logs.address].flat().join(', ')}`
  const { read } = recorded
  switch (read.kind) {
    case 'call':
    case 'call-from':
      return `${read.name ?? read.input.slice(0, 10)} of ${read.to}`
    case 'balance':
      return `balance of ${read.address}`
    case 'storage':
      return `slot ${read.slot} of ${read.address}`
  }
}

/** Its answer as it came: the bytes. */
export function answerWords(recorded: RecordedRead): string {
  if ('logs' in recorded) return `${recorded.answer.length} logs`
  if (recorded.reverted !== undefined) return `reverted with ${recorded.reverted}`
  return recorded.returned ?? ''
}
