import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Hex, LogFilter } from '../../model/block.ts'

/** Bytes of a block's Bloom filter over the addresses and topics of its logs (Ethereum's yellow paper, 4.4.3). */
const bloomBytes = 256

/**
 * Whether a block may have logs of a filter, by its header's Bloom filter. A few chains leave it empty whatever the
 * block holds; a check is then skipped that would be useful. Pure.
 *
 * @returns false only when it certainly has none; undefined when the header has no such filter
 */
export function mayHaveLogs(bloom: unknown, { address, topics }: LogFilter): boolean | undefined {
  if (typeof bloom !== 'string' || !/^0x[0-9a-fA-F]{512}$/.test(bloom)) return undefined
  const bits = Buffer.from(bloom.slice(2), 'hex')
  const may = (one: Hex | readonly Hex[] | null) => {
    const list = one === null ? [] : typeof one === 'string' ? [one] : one
    return list.length === 0 || list.some(hex => isIn(bits, hex))
  }
  return may(address) && topics.every(may)
}

/** Whether the filter contains an address or a topic: three bits, each from two bytes of its hash. */
function isIn(bits: Buffer, hex: Hex): boolean {
  const hash = Buffer.from(keccak_256(Buffer.from(hex.slice(2), 'hex')))
  return [0, 2, 4].every(at => {
    const bit = hash.readUInt16BE(at) % (bloomBytes * 8)
    return ((bits[bloomBytes - 1 - Math.floor(bit / 8)] ?? 0) & (1 << (bit % 8))) !== 0
  })
}
