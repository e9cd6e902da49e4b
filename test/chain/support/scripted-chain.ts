import type { BlockHeader } from '../../../src/chain/shapes.ts'
import type { Hex } from '../../../src/model/block.ts'

/** A chain from a formula: as long as one likes, and nothing is stored. */
export interface ScriptedChain {
  /** Number of the last block. */
  readonly head: bigint
  /** Undefined past the head, and of an empty number. */
  header(number: bigint): BlockHeader | undefined
}

/**
 * @param timestampOf seconds since 1970 of a block; must never fall
 * @param fork blocks from this number on get other hashes, as after a reorg
 * @param isEmpty numbers without a block, as Filecoin's null rounds; never the first nor the last
 */
export function scriptedChain(
  head: number,
  timestampOf: (number: number) => number,
  fork = Infinity,
  isEmpty: (number: bigint) => boolean = () => false,
): ScriptedChain {
  const hash = (number: bigint): Hex => {
    const branch = number >= fork ? 'f' : 'a'
    return `0x${branch}${(number + 1n).toString(16).padStart(63, '0')}`
  }
  const parentOf = (number: bigint): bigint => (isEmpty(number - 1n) ? parentOf(number - 1n) : number - 1n)
  return {
    head: BigInt(head),
    header(number) {
      if (number < 0n || number > BigInt(head) || isEmpty(number)) return undefined
      const timestampSeconds = timestampOf(Number(number))
      return { number, hash: hash(number), parentHash: hash(parentOf(number)), timestampSeconds }
    },
  }
}
