import {
  type AbiFunction,
  decodeFunctionResult,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  parseAbiItem,
} from 'viem'
import type { ReadAnswer } from '../../chain/reads.ts'
import { isRecord } from '../../model/json.ts'
import type { StandardFunction } from './standard-functions.ts'

/** A function that a contract is asked for. */
export interface Asked {
  readonly abi: AbiFunction
  readonly args: readonly unknown[]
  /** Signature, as `contract-read` takes it. */
  readonly call: string
  readonly input: Hex
}

/** A function with what it returned. */
export interface Answered extends Asked {
  readonly value: unknown
}

/** Functions that no contract has: one that answers them has a fallback that answers anything. */
export const nonsense: readonly Hex[] = ['0x5a17c0de', '0xf1c7a3e9']

/** A standard function with its call data. */
export function askedOf({ call, args = [] }: StandardFunction): Asked {
  const abi = parseAbiItem(`function ${call}` as string) as AbiFunction
  return askedAs(abi, call, args)
}

/** The view functions of an ABI that take no arguments. */
export function askedIn(abi: readonly unknown[]): Asked[] {
  const isWanted = (item: unknown): item is AbiFunction =>
    isRecord(item) &&
    item['type'] === 'function' &&
    ['view', 'pure'].includes(String(item['stateMutability'])) &&
    Array.isArray(item['inputs']) &&
    item['inputs'].length === 0 &&
    Array.isArray(item['outputs']) &&
    item['outputs'].length > 0
  return abi.filter(isWanted).map(item => askedAs(item, signatureOf(item), []))
}

function askedAs(abi: AbiFunction, call: string, args: readonly unknown[]): Asked {
  return { abi, args, call, input: encodeFunctionData({ abi: [abi], functionName: abi.name, args }) }
}

/** `name() view returns (uint256 value)`; tuples in the form of the ABI's own type. */
function signatureOf({ name, stateMutability, outputs }: AbiFunction): string {
  return `${name}() ${stateMutability} returns (${outputs.map(parameterText).join(', ')})`
}

function parameterText(parameter: AbiFunction['outputs'][number]): string {
  const name = /^[A-Za-z_$][\w$]*$/.test(parameter.name ?? '') ? ` ${parameter.name}` : ''
  if (!('components' in parameter)) return `${parameter.type}${name}`
  const parts = parameter.components.map(parameterText).join(', ')
  return `(${parts})${parameter.type.slice('tuple'.length)}${name}`
}

/**
 * The value of an answer. It counts only if it is exactly what the function's ABI describes, to the last byte: fallback
 * functions answer anything.
 *
 * @param fallback answers to functions that no contract has
 * @returns `undefined` for any other answer
 */
export function strictValue({ abi, args }: Asked, answer: ReadAnswer | undefined, fallback: ReadonlySet<Hex>): unknown {
  if (answer?.kind !== 'returned' || answer.output === '0x' || fallback.has(answer.output)) return undefined
  try {
    const value: unknown = decodeFunctionResult({ abi: [abi], functionName: abi.name, args, data: answer.output })
    const values = abi.outputs.length === 1 ? [value] : listOf(value)
    const again = encodeAbiParameters(abi.outputs, values)
    return again.toLowerCase() === answer.output.toLowerCase() ? value : undefined
  } catch {
    return undefined
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Text of a token, also one in 32 bytes: printable, at most 32 characters; absent when nothing is left of it. */
export function plainText(value: unknown): string | undefined {
  const written = typeof value === 'string' && /^0x[\da-f]{64}$/i.test(value) ? bytesText(value) : value
  if (typeof written !== 'string') return undefined
  const text = written
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim()
    .slice(0, 32)
  return text === '' ? undefined : text
}

function bytesText(word: string): string {
  const bytes = Buffer.from(word.slice(2).replace(/(00)+$/, ''), 'hex')
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : ''
}
