import { type Hex, toFunctionSelector } from 'viem'
import type { Artifact } from '../../../src/devchain/contracts.ts'

/** Reaction of a contract to functions that it does not have. */
export type Fallback = 'reverts' | 'burns all gas' | { readonly answers: Hex }

const word = (hex: Hex) => hex.slice(2).padStart(64, '0')
/** Words are written to memory one after the other. */
function answering(hex: Hex): string {
  const words = hex.length > 66 ? (hex.slice(2).match(/.{64}/g) ?? []) : [word(hex)]
  const stores = words.map((each, place) => `7f${each}61${(32 * place).toString(16).padStart(4, '0')}52`)
  return `${stores.join('')}61${(32 * words.length).toString(16).padStart(4, '0')}6000f3`
}

/** A contract in machine code, as old ones are: each function answers words. */
export function tinyContract(answers: Readonly<Record<string, Hex>>, fallback: Fallback): Artifact {
  const cases = Object.entries(answers)
  const other =
    fallback === 'reverts' ? '60006000fd' : fallback === 'burns all gas' ? 'fe' : answering(fallback.answers)
  const branches = cases.map(([, value]) => `5b${answering(value)}`)
  // Behind the selector's 6 bytes and 11 for each comparison.
  let at = 6 + 11 * cases.length + other.length / 2
  const tests = cases.map(([signature], index) => {
    const target = at.toString(16).padStart(4, '0')
    at += (branches[index]?.length ?? 0) / 2
    return `8063${toFunctionSelector(signature).slice(2)}1461${target}57`
  })
  const runtime = `60003560e01c${tests.join('')}${other}${branches.join('')}`
  const length = (runtime.length / 2).toString(16).padStart(4, '0')
  return { abi: [], bytecode: `0x61${length}80600c6000396000f3${runtime}` }
}
