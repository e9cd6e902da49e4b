import type { AbiParameter } from 'viem'
import { decodeAbiParameters, getAddress } from 'viem/utils'
import type { Hex } from '../../../model/block.ts'

/** Decodes the first word of a call's output. */
type WordDecoder = (word: Hex) => unknown

/**
 * Fast decoder for the most common outputs: one number, address, flag or hash. Undefined when there is none.
 *
 * @returns a function that returns what viem would, or undefined for bytes that viem has to judge; it throws for a word
 * that does not fit the type
 */
export function staticDecoder(outputs: readonly AbiParameter[] | undefined): ((output: Hex) => unknown) | undefined {
  const [output, ...others] = outputs ?? []
  const decode = output && others.length === 0 ? decoderOf(output.type) : undefined
  if (!output || !decode) return undefined
  return bytes => {
    if (bytes.length < wordChars) return undefined
    // As in viem, the rest is ignored.
    const word = bytes.length === wordChars ? bytes : (bytes.slice(0, wordChars) as Hex)
    checkWord(output.type, word)
    return decode(word)
  }
}

const wordChars = 2 + 64

function decoderOf(type: string): WordDecoder | undefined {
  if (type === 'address') return word => getAddress(`0x${word.slice(-40).toLowerCase()}`)
  if (type === 'bool') return word => word.endsWith('1')
  if (type === 'bytes32') return word => word.toLowerCase()
  const [, unsigned, bits = '256'] = /^(u?)int(\d+)?$/.exec(type) ?? []
  if (unsigned === undefined) return undefined
  const amountIn: (word: Hex) => bigint = unsigned ? BigInt : word => BigInt.asIntN(256, BigInt(word))
  // viem returns small integers as numbers.
  return Number(bits) > 48 ? amountIn : word => Number(amountIn(word))
}

/**
 * Checks that each word of encoded values fits its type: of a `uint8` of 511, and of an address with more than 20
 * bytes, viem would drop what is too much.
 *
 * @throws UnfitWord; errors of viem
 */
export function checkWords(parameters: readonly AbiParameter[], data: Hex): void {
  if (parameters.every(isWide)) return
  const words = decodeAbiParameters(parameters.map(asWords), data)
  for (const [place, parameter] of parameters.entries()) checkPart(parameter, words[place])
}

const fixedSize = /^(u?int\d*|address|bool|bytes\d+)(?=$|\[)/

/** Whether any bytes fit the type. */
function isWide({ type }: AbiParameter): boolean {
  return /^(u?int(256)?|bytes(32)?|string)(\[|$)/.test(type)
}

/** The same parameter with each value of a fixed size as the 32 bytes that it is in, and each tuple as a list. */
function asWords(parameter: AbiParameter): AbiParameter {
  const type = parameter.type.replace(fixedSize, 'bytes32')
  const components = 'components' in parameter ? { components: parameter.components.map(asWords) } : {}
  return { type, name: '', ...components }
}

function checkPart(parameter: AbiParameter, value: unknown): void {
  const item = /^(.*)\[\d*\]$/.exec(parameter.type)?.[1]
  if (!Array.isArray(value)) checkWord(parameter.type, value as Hex)
  else
    for (const [place, part] of value.entries()) {
      if (item !== undefined) checkPart({ ...parameter, type: item }, part)
      else if ('components' in parameter && parameter.components[place]) checkPart(parameter.components[place], part)
    }
}

function checkWord(type: string, word: Hex): void {
  if (!wordFits(type, word)) throw new UnfitWord(`${word.replace(/^0x0+(?=.)/, '0x')}, which is no ${type}`)
}

/** Error of a word that does not fit its type; the message begins with the word. */
export class UnfitWord extends Error {}

function wordFits(type: string, word: Hex): boolean {
  const [, kind = '', size] = fixedForm.exec(type) ?? []
  const bits = Number(size ?? { address: 160, bool: 1 }[kind] ?? 256)
  if (kind === '' || bits === 256) return true
  if (kind === 'bytes') return /^0*$/.test(word.slice(2 + 2 * bits))
  const value = BigInt(word)
  return kind === 'int' ? BigInt.asIntN(bits, value) === BigInt.asIntN(256, value) : value >> BigInt(bits) === 0n
}

const fixedForm = /^(u?int|address|bool|bytes(?=\d))(\d+)?$/
