import type { AbiParameter } from 'viem'
import { getAddress } from 'viem/utils'
import type { Hex } from '../../../model/block.ts'

/** Decodes the first word of a call's output; undefined when viem has to judge it. */
type WordDecoder = (word: Hex) => unknown

/**
 * Fast decoder for the most common outputs: one number, address, flag or hash. Undefined when there is none.
 *
 * @returns a function that returns what viem would, or undefined for bytes that viem has to judge
 */
export function staticDecoder(outputs: readonly AbiParameter[] | undefined): ((output: Hex) => unknown) | undefined {
  const [output, ...others] = outputs ?? []
  const decode = output && others.length === 0 ? decoderOf(output.type) : undefined
  return decode && (bytes => (bytes.length < wordChars ? undefined : decode(firstWord(bytes))))
}

const wordChars = 2 + 64

/** The first word; as in viem, the rest is ignored. */
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

/** viem returns small integers as numbers, whatever their declared width. */
function safeNumber(amount: bigint): number | undefined {
  const number = Number(amount)
  return Number.isSafeInteger(number) ? number : undefined
}
