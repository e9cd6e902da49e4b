import type { ChainAsOf, z } from 'tidegauge'
import type { AbiFunction, AbiParameter } from 'viem'
import { argument, part } from './abi-argument.ts'
import type { decimalsOption, decimalsReader } from './decimals.ts'
import { type Fraction, scaled } from './fraction.ts'
import { OptionEntryMistake } from './mistake.ts'
import { isNumber, parsedSignature } from './signature.ts'

/** A view function by its signature, the arguments as its ABI wants them, and which of its outputs is the value. */
export interface ViewCall {
  readonly abi: AbiFunction
  readonly args: readonly unknown[]
  /** The value among what the function returns. */
  taken(returned: unknown): bigint
}

/** A call as it is written: `{ call: 'caps(address asset) view returns (uint256 supply)', args: ['0x…'], take: 'supply' }`. */
export interface CallOption {
  readonly call: string
  readonly args?: readonly unknown[] | undefined
  readonly take?: string | number | undefined
}

/** A call of a contract, and the decimals of what it returns. */
export interface ContractCall extends CallOption {
  readonly address: `0x${string}`
  /** Default: 0. */
  readonly decimals?: z.output<typeof decimalsOption> | undefined
}

/** The exact number that a call returns, in whole units. Its decimals are read in the same turn. */
export async function calledNumber(
  chain: ChainAsOf,
  decimalsOf: ReturnType<typeof decimalsReader>,
  { address, decimals = 0, ...call }: ContractCall,
): Promise<Fraction> {
  const { abi, args, taken } = viewCall(call)
  const [returned, places] = await Promise.all([
    chain.read({ address, abi: [abi], functionName: abi.name, args }),
    typeof decimals === 'number' ? decimals : decimalsOf(decimals === true ? address : decimals.address),
  ])
  return scaled(taken(returned), places)
}

/** @throws OptionEntryMistake when it is no view function, or the arguments or `take` do not fit it */
export function viewCall({ call, args = [], take }: CallOption): ViewCall {
  const abi = viewFunction(call)
  const steps = stepsTo(abi.outputs, take)
  return {
    abi,
    args: argumentsOf(abi, args),
    taken(returned) {
      let value = returned
      for (const step of steps) value = part(value, step)
      if (typeof value === 'boolean') return value ? 1n : 0n
      if (typeof value === 'bigint' || typeof value === 'number') return BigInt(value)
      throw new Error(`${abi.name} returned no number at ${take}`)
    },
  }
}

/** Mistakes in a call, offline. */
export function callMistakes(call: string, { args, take }: Omit<CallOption, 'call'>): readonly OptionEntryMistake[] {
  try {
    viewCall({ call, args, take })
    return []
  } catch (error) {
    if (error instanceof OptionEntryMistake) return [error]
    throw error
  }
}

const example = 'like "totalSupply() view returns (uint256)"'

function viewFunction(signature: string): AbiFunction {
  const item = parsedSignature('function', signature, 'call', `must be the signature of a view function, ${example}`)
  if (item.stateMutability !== 'view' && item.stateMutability !== 'pure') {
    throw new OptionEntryMistake(['call'], `must be a view function: write view before returns, ${example}`)
  }
  if (item.outputs.length === 0) throw new OptionEntryMistake(['call'], `must say what it returns, ${example}`)
  return item
}

type Outputs = readonly AbiParameter[]

/** The way from what viem returns of a function to the output that is meant. */
function stepsTo(outputs: Outputs, take: string | number | undefined): readonly (string | number)[] {
  const names = take === undefined ? [] : String(take).split('.')
  const [only, ...others] = outputs
  if (only === undefined || others.length > 0) return stepsAmong(outputs, names, true)
  // viem returns a single output as it is. It may be named, too.
  const rest = names[0] !== undefined && names[0] === only.name ? names.slice(1) : names
  return stepsIn(only, rest)
}

function stepsIn(output: AbiParameter, names: readonly string[]): readonly (string | number)[] {
  const list = /^(.*)\[(\d*)\]$/.exec(output.type)
  if (list) {
    const [place, ...rest] = names
    if (place === undefined || !/^\d+$/.test(place)) {
      throw new OptionEntryMistake(
        names.length > 0 ? ['take'] : ['call'],
        `of a list (${output.type}) take says the place, like take: 0`,
      )
    }
    return [Number(place), ...stepsIn({ ...output, type: list[1] ?? '' }, rest)]
  }
  if ('components' in output)
    return stepsAmong(
      output.components,
      names,
      output.components.some(({ name }) => !name),
    )
  if (names.length > 0)
    throw new OptionEntryMistake(['take'], `there is no output ${names.join('.')} in ${output.type}`)
  if (isNumber(output.type)) return []
  throw new OptionEntryMistake(['call'], `must return an integer or a bool, not ${output.type}`)
}

/** @param isList whether viem returns these outputs as a list, and not by their names */
function stepsAmong(outputs: Outputs, names: readonly string[], isList: boolean): readonly (string | number)[] {
  const known = outputs.map(({ name }, place) => name || String(place))
  const [name, ...rest] = names
  if (name === undefined) {
    throw new OptionEntryMistake(
      ['call'],
      `returns ${outputs.length} outputs: take says which one (${known.join(', ')})`,
    )
  }
  const place = known.includes(name) ? known.indexOf(name) : /^\d+$/.test(name) ? Number(name) : -1
  const output = outputs[place]
  if (output === undefined)
    throw new OptionEntryMistake(['take'], `there is no output "${name}": take one of ${known.join(', ')}`)
  return [isList ? place : (output.name ?? place), ...stepsIn(output, rest)]
}

function argumentsOf({ name, inputs }: AbiFunction, args: readonly unknown[]): readonly unknown[] {
  if (args.length !== inputs.length) {
    const wanted = inputs.map(input => `${input.type} ${input.name ?? ''}`.trim()).join(', ')
    const count = `${inputs.length} ${inputs.length === 1 ? 'argument' : 'arguments'}`
    throw new OptionEntryMistake(
      ['args'],
      `${name} takes ${count}${wanted === '' ? '' : ` (${wanted})`}, not ${args.length}`,
    )
  }
  return inputs.map((input, place) => argument(input, args[place], ['args', place]))
}
