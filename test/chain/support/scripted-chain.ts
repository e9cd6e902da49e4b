import type { Header } from '../../../src/chain/look-up/known-headers.ts'
import type { Hex } from '../../../src/model/block.ts'

/** A chain from a formula: as long as one likes, and nothing is stored. */
export interface ScriptedChain {
  /** Number of the last block. */
  readonly head: bigint
  /** Undefined past the head. */
  header(number: bigint): Header | undefined
}

/**
 * @param timestampOf seconds since 1970 of a block; must never fall
 * @param fork blocks from this number on get other hashes, as after a reorg
 */
export function scriptedChain(head: number, timestampOf: (number: number) => number, fork = Infinity): ScriptedChain {
  const hash = (number: bigint): Hex => {
    const branch = number >= fork ? 'f' : 'a'
    return `0x${branch}${(number + 1n).toString(16).padStart(63, '0')}`
  }
  return {
    head: BigInt(head),
    header(number) {
      if (number < 0n || number > BigInt(head)) return undefined
      const timestampSeconds = timestampOf(Number(number))
      return { number, hash: hash(number), parentHash: hash(number - 1n), timestampSeconds }
    },
  }
}
