import type { BlockHeader } from '../../../src/chain/shapes.ts'
import type { Hex } from '../../../src/model/block.ts'

/** A chain with a known truth, from a formula, from steps or from a list: as long as one likes, and nothing is stored. */
export interface ScriptedChain {
  /** Number of the last block. */
  readonly head: bigint
  /** Undefined past the head, and of an empty number. */
  header(number: bigint): BlockHeader | undefined
  /** Seconds since 1970 of a block. */
  timestampOf(number: number): number
  /** Number of the last block at or before an instant; -1 when all are later. */
  asOf(seconds: number): number
}

/** Differences of a scripted chain from one branch of consecutive blocks. */
export interface ScriptedTraits {
  /** Blocks from this number on get other hashes, as after a reorg. Default: none. */
  readonly fork?: number
  /** Numbers without a block, as Filecoin's null rounds; never the first nor the last. Default: none. */
  readonly isEmpty?: (number: bigint) => boolean
  /** A faster way to find the last block at or before an instant. Default: by halves. */
  readonly asOf?: ScriptedChain['asOf']
}

/**
 * A chain from a formula.
 *
 * @param timestampOf seconds since 1970 of a block; must never fall
 */
export function scriptedChain(
  head: number,
  timestampOf: (number: number) => number,
  { fork = Number.POSITIVE_INFINITY, isEmpty = () => false, asOf }: ScriptedTraits = {},
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
    timestampOf,
    asOf: asOf ?? (seconds => lastBy(head + 1, number => timestampOf(number) <= seconds)),
  }
}

/** The header of a block that the chain has. */
export function headerOf(chain: ScriptedChain, number: number): BlockHeader {
  const header = chain.header(BigInt(number))
  if (!header) throw new Error(`the scripted chain has no block ${number}`)
  return header
}

/** A small chain, block by block. @param timestamps seconds since 1970; never falling */
export function listedChain(timestamps: readonly number[], fork = Number.POSITIVE_INFINITY): ScriptedChain {
  return scriptedChain(timestamps.length - 1, number => timestamps[number] ?? Number.NaN, {
    fork,
    asOf: seconds => timestamps.findLastIndex(timestamp => timestamp <= seconds),
  })
}

/** The last of so many numbers that fits, of numbers that fit up to one and not after it; -1 when none does. */
export function lastBy(count: number, fits: (number: number) => boolean): number {
  let [from, to] = [-1, count]
  while (to - from > 1) {
    const middle = (from + to) >>> 1
    if (fits(middle)) from = middle
    else to = middle
  }
  return from
}
