import type { AbiParameter } from 'viem'
import { getAddress } from 'viem/utils'
import type { Hex } from '../../../model/block.ts'

/** Reads the first word of what a call returned; undefined where it is not plainly a value. */
type WordDecoder = (word: Hex) => unknown

/**
 * A quick way to read what most functions return: one number, address, flag or hash. Undefined when there is none.
 *
 * @returns a function that gives what viem gives, or undefined for bytes that viem must judge
 */
export function staticDecoder(outputs: readonly AbiParameter[] | undefined): ((output: Hex) => unknown) | undefined {
  const [output, ...others] = outputs ?? []
  const decode = output && others.length === 0 ? decoderOf(output.type) : undefined
  return decode && (bytes => (bytes.length < wordChars ? undefined : decode(firstWord(bytes))))
}

const wordChars = 2 + 64

/** What follows is ignored, as viem does. */
function firstWord(bytes: Hex): Hex {
  return bytes.length === wordChars ? bytes : `0x${bytes.slice(2, wordChars)}`
}

function decoderOf(type: string): WordDecoder | undefined {
  if (type === 'address') return word => getAddress(`0x${word.slice(-40).toLowerCase()}`)
  if (type === 'bool') return flagIn
  if (type === 'bytes32') return word => word.toLowerCase()
  const [, unsigned, bits = '256'] = /^(u?)int(\d+)?$/.exec(type) ?? []
  if (unsigned === undefined) return undefined
  const amountIn: (word: Hex) => bigint = unsigned ? BigInt : word => BigInt.asIntN(256, BigInt(word))
  return Number(bits) > 48 ? amountIn : word => safeNumber(amountIn(word))
}

function flagIn(word: Hex): boolean | undefined {
  if (!flagWord.test(word)) return undefined
  return word.endsWith('1')
}

const flagWord = /^0x0{63}[01]$/

/** viem gives small integers as numbers, and does not look at their width. */
function safeNumber(amount: bigint): number | undefined {
  const number = Number(amount)
  return Number.isSafeInteger(number) ? number : undefined
}
