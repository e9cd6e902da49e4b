import { hourAfter, hourText, parseHour } from '../../model/hour.ts'
import type { RecordedRead, Recording } from '../../testing/recording.ts'

/** A block number as nodes write it. */
const quantity = (number: number) => `0x${number.toString(16)}`

/**
 * A read as a JSON-RPC request, which any tool can send to any node of the chain: without an address. Undefined where its
 * block is not known.
 */
export function rpcLine(recorded: RecordedRead, { chains, hour }: Recording): string | undefined {
  const { chain, hoursBefore = 0 } = recorded
  const blockOf = (back: number) => chains[chain]?.blocks[hourText(hourAfter(parseHour(hour), -back))]
  const block = blockOf(hoursBefore)
  if (!block) return undefined
  // Logs count after the block of the hour before; the first blocks of a chain have none before them.
  const first = (blockOf(hoursBefore + 1)?.number ?? -1) + 1
  const [method, ...params] = callOf(recorded, quantity(block.number), quantity(first))
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

function callOf(recorded: RecordedRead, at: string, first: string): readonly unknown[] {
  if ('logs' in recorded) return ['eth_getLogs', { ...recorded.logs, fromBlock: first, toBlock: at }]
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
