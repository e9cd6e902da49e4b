import { scriptedChain } from './scripted-chain.ts'
import type { SyntheticChain } from './synthetic-chain.ts'

/**
 * A small chain, block by block.
 *
 * @param timestamps seconds since 1970; never falling
 * @param fork blocks from this number on have other hashes
 */
export function listedChain(timestamps: readonly number[], fork = Number.POSITIVE_INFINITY): SyntheticChain {
  const timestampOf = (number: number) => timestamps[number] ?? Number.NaN
  const scripted = scriptedChain(timestamps.length - 1, timestampOf, fork)
  return {
    blocks: timestamps.length,
    timestampOf,
    asOf: seconds => timestamps.findLastIndex(timestamp => timestamp <= seconds),
    header(number) {
      const header = scripted.header(BigInt(number))
      if (!header) throw new Error(`there is no block ${number}`)
      return header
    },
  }
}

/** What a look-up must come to, by looking at every block. */
export type Truth =
  | { readonly kind: 'found'; readonly number: number; readonly hash: string; readonly timestampSeconds: number }
  | { readonly kind: 'before-first' }
  | { readonly kind: 'past-head' }

export function truthOf(chain: SyntheticChain, hourMs: number): Truth {
  const number = chain.asOf(hourMs / 1_000)
  if (number === chain.blocks - 1) return { kind: 'past-head' }
  if (number === -1) return { kind: 'before-first' }
  const { hash, timestampSeconds } = chain.header(number)
  return { kind: 'found', number, hash, timestampSeconds }
}
