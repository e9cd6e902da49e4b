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
