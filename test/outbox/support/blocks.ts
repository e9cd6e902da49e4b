import type { AsOfBlock, Hex, PinnedBlock } from '../../../src/model/block.ts'

/** A block that is all its own. */
export function aBlock(number: number, fork = 'a'): AsOfBlock {
  const hash: Hex = `0x${`${fork}${number.toString(16)}`.padStart(64, '0')}`
  return { number: BigInt(number), hash, timestampSeconds: 1_700_000_000 + 12 * number }
}

/** Values were read at that block, of a chain. */
export function aPin(number: number, fork = 'a', chainId = 1): PinnedBlock {
  return { chainId, block: aBlock(number, fork) }
}
