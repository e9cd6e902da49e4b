import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Hex, LogFilter } from '../../model/block.ts'

/** Bytes of a block's Bloom filter over the addresses and topics of its logs (Ethereum's yellow paper, 4.4.3). */
const bloomBytes = 256

/**
 * Whether a block may have logs of a filter, by its header's Bloom filter. A few chains leave it empty whatever the
 * block holds; a check is then skipped that would be useful. Pure.
 *
 * @returns false only when it certainly has none; undefined when the header has no such filter, or a full one, as all
 * have on a few chains
 */
export function mayHaveLogs(bloom: unknown, { address, topics }: LogFilter): boolean | undefined {
  if (typeof bloom !== 'string' || !/^0x(?!f*$)[0-9a-f]{512}$/i.test(bloom)) return undefined
  const bits = Buffer.from(bloom.slice(2), 'hex')
  const may = (one: Hex | readonly Hex[] | null) => {
    const list = one === null ? [] : typeof one === 'string' ? [one] : one
    return list.length === 0 || list.some(hex => isIn(bits, hex))
  }
  return may(address) && topics.every(may)
}

/**
 * Chance that a Bloom filter says maybe to a filter although the block has no such log: next to 0 for one with few
 * bits. Pure.
 */
export function chanceOfNone(bloom: unknown, { address, topics }: LogFilter): number {
  const bits = Buffer.from(String(bloom).slice(2), 'hex')
  const filled = bits.reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0) / (bloomBytes * 8)
  const counts = [address, ...topics].map(one => (one === null ? 0 : typeof one === 'string' ? 1 : one.length))
  return counts.filter(Boolean).reduce((chance, count) => chance * Math.min(1, count * filled ** 3), 1)
}

/** Whether the filter contains an address or a topic: three bits, each from two bytes of its hash. */
function isIn(bits: Buffer, hex: Hex): boolean {
  const hash = Buffer.from(keccak_256(Buffer.from(hex.slice(2), 'hex')))
  return [0, 2, 4].every(at => {
    const bit = hash.readUInt16BE(at) % (bloomBytes * 8)
    return ((bits[bloomBytes - 1 - Math.floor(bit / 8)] ?? 0) & (1 << (bit % 8))) !== 0
  })
}
