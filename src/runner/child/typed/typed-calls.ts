import type { Abi, AbiFunction } from 'viem'
import {
  decodeFunctionResult,
  encodeFunctionData,
  formatAbiItem,
  formatAbiParams,
  getAbiItem,
  toFunctionSelector,
} from 'viem/utils'
import type { Hex } from '../../../model/block.ts'
import { inputCharsRememberedMax, inputsRememberedMax } from './limits.ts'
import { checkWords, staticDecoder } from './static-outputs.ts'

/** A call of a contract's function, with its ABI. */
export interface TypedCall {
  readonly address: Hex
  readonly abi: Abi
  readonly functionName: string
  readonly args?: readonly unknown[]
  /** The `msg.sender` that the contract sees. Default: Multicall3. */
  readonly from?: Hex | undefined
}

/** A function of an ABI, looked up once. */
interface KnownFunction {
  readonly selector: Hex
  readonly abi: readonly [AbiFunction]
  /** Call data by their arguments: a single one as it is, several as one text. */
  readonly inputs: Map<unknown, Hex>
  readonly decode: ((output: Hex) => unknown) | undefined
}

/** Call data, as viem's `encodeFunctionData` encodes them. @throws errors of viem */
export function encodedInput({ abi, functionName, args }: TypedCall): Hex {
  const known = knownOf(abi, functionName)
  if (!known) return encodeFunctionData({ abi, functionName, ...(args && { args }) })
  const key = keyOf(known.abi[0].inputs.length, args)
  const remembered = key === undefined ? undefined : known.inputs.get(key)
  if (remembered) return remembered
  const input = encodeFunctionData<Abi, Hex>({ abi: known.abi, functionName: known.selector, ...(args && { args }) })
  if (key !== undefined) remember(known.inputs, key, input)
  return input
}

/**
 * The value, as viem's `decodeFunctionResult` decodes it.
 *
 * @throws UnfitWord; errors of viem
 */
export function decodedValue(call: TypedCall, output: Hex): unknown {
  const { abi, functionName, args } = call
  const known = knownOf(abi, functionName)
  const word = known?.decode?.(output)
  if (word !== undefined) return word
  const value = decodeFunctionResult<Abi>({ abi: known?.abi ?? abi, functionName, data: output, ...(args && { args }) })
  checkWords(known?.abi[0].outputs ?? outputsOf(call), output)
  return value
}

/** Types and names of what the function returns: `uint256 supply, bool isPaused`. Undefined where it returns nothing. */
export function returnsText(call: TypedCall): string | undefined {
  const outputs = outputsOf(call)
  return outputs.length > 0 ? formatAbiParams(outputs, { includeName: true }) : undefined
}

/** Outputs of the function; none where the ABI lacks it. */
function outputsOf({ abi, functionName, args = [] }: TypedCall): AbiFunction['outputs'] {
  const item = getAbiItem<Abi, string>({ abi, name: functionName, args })
  return item?.type === 'function' ? item.outputs : []
}

/** By the ABI as an object, and by name: collectors declare an ABI once and use it each hour. */
const knownByAbi = new WeakMap<Abi, Map<string, KnownFunction | undefined>>()

function knownOf(abi: Abi, name: string): KnownFunction | undefined {
  const ofAbi = knownByAbi.get(abi) ?? new Map<string, KnownFunction | undefined>()
  knownByAbi.set(abi, ofAbi)
  if (!ofAbi.has(name)) ofAbi.set(name, lookedUp(abi, name))
  return ofAbi.get(name)
}

/**
 * A function of an ABI. Undefined for unknown names, for overloads, which depend on the arguments, and for selectors as
 * names.
 */
function lookedUp(abi: Abi, name: string): KnownFunction | undefined {
  const [item, ...others] = abi.filter(item => 'name' in item && item.name === name)
  if (item?.type !== 'function' || others.length > 0 || name.startsWith('0x')) return undefined
  return {
    selector: toFunctionSelector(formatAbiItem(item)),
    abi: [item],
    inputs: new Map(),
    decode: staticDecoder(item.outputs),
  }
}

/** Cache key of arguments; undefined when they are long, not plain, or of the wrong number. */
function keyOf(count: number, args: readonly unknown[] = []): unknown {
  if (args.length !== count || !args.every(isPlain)) return undefined
  if (count === 1) return args[0]
  return args.map(arg => `${typeof arg}${String(arg).length}:${arg}`).join('')
}

function isPlain(arg: unknown): boolean {
  if (typeof arg === 'string') return arg.length <= inputCharsRememberedMax
  return typeof arg === 'bigint' || typeof arg === 'number' || typeof arg === 'boolean'
}

function remember(inputs: Map<unknown, Hex>, key: unknown, input: Hex): void {
  if (inputs.size >= inputsRememberedMax) inputs.clear()
  inputs.set(key, input)
}
