import { decodeFunctionData, multicall3Abi } from 'viem'
import { z } from 'zod'
import type { Hex } from '../../../src/model/block.ts'

/** One call within an `aggregate3`. */
export interface Aggregated {
  readonly target: string
  readonly input: Hex
}

const decoded = z.tuple([z.array(z.object({ target: z.string(), callData: z.templateLiteral(['0x', z.string()]) }))])
const rememberedMax = 64
const remembered = new Map<Hex, readonly Aggregated[]>()

/** The calls of an `aggregate3`. The same input comes hour after hour, so the last ones are remembered. */
export function aggregate3Calls(input: Hex): readonly Aggregated[] {
  const known = remembered.get(input)
  if (known) return known
  const [calls] = decoded.parse(decodeFunctionData({ abi: multicall3Abi, data: input }).args)
  const read = calls.map(({ target, callData }) => ({ target, input: callData }))
  remembered.set(input, read)
  const [oldest] = remembered.keys()
  if (remembered.size > rememberedMax && oldest) remembered.delete(oldest)
  return read
}

const wordOf = (value: number) => value.toString(16).padStart(64, '0')

/** The output of an `aggregate3` whose calls each gave whole words, or failed (`undefined`) without one. */
export function aggregate3Output(results: readonly (Hex | undefined)[]): Hex {
  let heads = ''
  let tails = ''
  let offset = 32 * results.length
  for (const result of results) {
    heads += wordOf(offset)
    const bytes = result ? result.length / 2 - 1 : 0
    tails += `${wordOf(result ? 1 : 0)}${wordOf(64)}${wordOf(bytes)}${result?.slice(2) ?? ''}`
    offset += 96 + bytes
  }
  return `0x${wordOf(32)}${wordOf(results.length)}${heads}${tails}`
}

/** A read by certifying code. */
export type CodeRead =
  | { readonly kind: 'call'; readonly to: Hex; readonly input: Hex }
  | { readonly kind: 'balance' | 'storage'; readonly of: Hex }
  | { readonly kind: 'code-sizes'; readonly of: readonly Hex[] }

const callCode = /^0x63[0-9a-f]{8}63[0-9a-f]{8}6000396000600063([0-9a-f]{8})6000600073([0-9a-f]{40})5af1/
const wordCode = /^0x(?:73([0-9a-f]{40})31|7f([0-9a-f]{64})54)/
const sizesCode = /^0x73[0-9a-f]{40}3b63/

/** The read of an `eth_call` by certifying code: as a state override, or as creation code. Undefined for other calls. */
export function codeRead(params: readonly unknown[]): (CodeRead & { readonly way: 'override' | 'create' }) | undefined {
  const overridden = Object.values((params[2] ?? {}) as Record<string, { code: Hex }>)[0]?.code
  const code = overridden ?? (params[0] as { data?: Hex } | undefined)?.data ?? '0x'
  const way = overridden ? 'override' : 'create'
  const [, bytes, to] = callCode.exec(code) ?? []
  if (bytes) {
    const input = Number.parseInt(bytes, 16) === 0 ? '' : code.slice(-2 * Number.parseInt(bytes, 16))
    return { way, kind: 'call', to: `0x${to}`, input: `0x${input}` }
  }
  if (sizesCode.test(code)) {
    const of = [...code.matchAll(/73([0-9a-f]{40})3b63/g)].map(([, account]) => `0x${account}` as const)
    return { way, kind: 'code-sizes', of }
  }
  const [, account, slot] = wordCode.exec(code) ?? []
  if (account) return { way, kind: 'balance', of: `0x${account}` }
  return slot ? { way, kind: 'storage', of: `0x${slot}` } : undefined
}

/** The block that a call sees. */
export interface SeenHeader {
  readonly number: bigint
  readonly timestampSeconds: number
  readonly parentHash: Hex
}

/** The output of certifying code. */
export function certifiedOutput({ number, timestampSeconds, parentHash }: SeenHeader, output: Hex | undefined): Hex {
  const parts = [wordOf(Number(number)), wordOf(timestampSeconds), parentHash.slice(2), wordOf(output ? 1 : 0)]
  return `0x${parts.join('')}${(output ?? '0x').slice(2)}`
}
