import { headerOf, type ScriptedChain } from './scripted-chain.ts'

/** The right result of a look-up, by looking at every block. */
export type Truth =
  | { readonly kind: 'found'; readonly number: number; readonly hash: string; readonly timestampSeconds: number }
  | { readonly kind: 'before-first' }
  | { readonly kind: 'past-head' }

export function truthOf(chain: ScriptedChain, hourMs: number): Truth {
  const number = chain.asOf(hourMs / 1_000)
  if (BigInt(number) === chain.head) return { kind: 'past-head' }
  if (number === -1) return { kind: 'before-first' }
  const { hash, timestampSeconds } = headerOf(chain, number)
  return { kind: 'found', number, hash, timestampSeconds }
}
