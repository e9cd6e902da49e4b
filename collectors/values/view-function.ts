import type { ChainAsOf, z } from 'tidegauge'
import type { AbiFunction, AbiParameter } from 'viem'
import { type ArgumentNames, argument, part } from './abi-argument.ts'
import type { DecimalsOf } from './decimals.ts'
import type { decimalsOption } from './decimals-option.ts'
import { type Fraction, scaled } from './fraction.ts'
import { OptionEntryMistake } from './mistake.ts'
import { isNumber, parsedSignature } from './signature.ts'

/** A view function by its signature, the arguments as its ABI wants them, and which of its outputs is the value. */
export interface ViewCall {
  readonly abi: AbiFunction
  /** With what the names mean that were given for the call. */
  readonly args: readonly unknown[]
  /** The arguments with another meaning of the names. */
  argsOf(names: ArgumentNames): readonly unknown[]
  /** Whether its value is an address, or a list of addresses. */
  readonly isAddress: boolean
  /** The number among what the function returns. */
  taken(returned: unknown): bigint
  /** The address among what the function returns, or all addresses of the list. */
  addresses(returned: unknown): readonly `0x${string}`[]
}

/** Form of a call: its result and the names in its arguments. */
export interface CallForm {
  /** Default: a number. */
  readonly wants?: 'number' | 'number or address' | 'address' | 'addresses'
  /** Names that may stand in place of arguments. Default: none. */
  readonly names?: ArgumentNames
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
  decimalsOf: DecimalsOf,
  { address, decimals = 0, ...call }: ContractCall,
): Promise<Fraction> {
  const { abi, args, taken: takeOutput } = viewCall(call)
  const [answer, places] = await Promise.all([
    chain.read({ address, abi: [abi], functionName: abi.name, args }),
    typeof decimals === 'number' ? decimals : decimalsOf(decimals === true ? address : decimals.address),
  ])
  return scaled(takeOutput(answer), places)
}

/** @throws OptionEntryMistake when it is no view function, or the arguments or `take` do not fit it */
export function viewCall(
  { call, args = [], take }: CallOption,
  { wants = 'number', names = {} }: CallForm = {},
): ViewCall {
  const abi = viewFunction(call)
  const { steps, isAddress } = stepsTo(abi.outputs, take, wants)
  const argsOf = (names: ArgumentNames) => argumentsOf(abi, args, names)
  return {
    abi,
    args: argsOf(names),
    argsOf,
    isAddress,
    addresses: returned => [allAt(returned, steps)].flat(2) as `0x${string}`[],
    taken(outputs) {
      const value = allAt(outputs, steps)
      if (typeof value === 'boolean') return value ? 1n : 0n
      if (typeof value === 'bigint' || typeof value === 'number') return BigInt(value)
      throw new Error(`${abi.name} returned no number at ${take}`)
    },
  }
}

/** Whether a call returns an address; false for one with mistakes. */
export function returnsAddress({ call, take }: Pick<CallOption, 'call' | 'take'>): boolean {
  try {
    return stepsTo(viewFunction(call).outputs, take, 'number or address').isAddress
  } catch (error) {
    if (error instanceof OptionEntryMistake) return false
    throw error
  }
}

/** Mistakes in a call, offline. */
export function callMistakes(
  call: string,
  { args, take }: Omit<CallOption, 'call'>,
  form: CallForm = {},
): readonly OptionEntryMistake[] {
  try {
    viewCall({ call, args, take }, form)
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
type Wants = NonNullable<CallForm['wants']>

/** A step to each item of a list. */
const every = Symbol('every')

/** The way from what viem returns of a function to the output that is meant. */
interface Steps {
  readonly steps: readonly (string | number | typeof every)[]
  readonly isAddress: boolean
}

/** The value at the end of the steps; of a step to every item, a list. */
function allAt(value: unknown, [step, ...laterSteps]: Steps['steps']): unknown {
  if (step === undefined) return value
  if (step !== every) return allAt(part(value, step), laterSteps)
  return Array.isArray(value) ? value.map(item => allAt(item, laterSteps)) : []
}

function after(step: Steps['steps'][number], { steps, isAddress }: Steps): Steps {
  return { steps: [step, ...steps], isAddress }
}

function stepsTo(outputs: Outputs, take: string | number | undefined, wants: Wants): Steps {
  const names = take === undefined ? [] : String(take).split('.')
  const [output, ...others] = outputs
  if (output === undefined || others.length > 0) return stepsAmong(outputs, names, true, wants)
  // viem returns a single output as it is. It may be named, too.
  const innerNames = names[0] !== undefined && names[0] === output.name ? names.slice(1) : names
  return stepsIn(output, innerNames, wants)
}

function stepsIn(output: AbiParameter, names: readonly string[], wants: Wants): Steps {
  const list = /^(.*)\[(\d*)\]$/.exec(output.type)
  if (list && wants === 'addresses') return after(every, stepsIn({ ...output, type: list[1] ?? '' }, names, 'address'))
  if (list) {
    const [place, ...innerNames] = names
    if (place === undefined || !/^\d+$/.test(place)) {
      throw new OptionEntryMistake(
        names.length > 0 ? ['take'] : ['call'],
        `of a list (${output.type}) take says the place, like take: 0`,
      )
    }
    return after(Number(place), stepsIn({ ...output, type: list[1] ?? '' }, innerNames, wants))
  }
  if ('components' in output)
    return stepsAmong(
      output.components,
      names,
      output.components.some(({ name }) => !name),
      wants,
    )
  if (names.length > 0)
    throw new OptionEntryMistake(['take'], `there is no output ${names.join('.')} in ${output.type}`)
  const isAddress = output.type === 'address'
  const isWanted = isAddress ? /^(number or )?address$/.test(wants) : isNumber(output.type) && /^number/.test(wants)
  if (isWanted) return { steps: [], isAddress }
  throw new OptionEntryMistake(['call'], `must return ${wantedWords[wants]}, not ${output.type}`)
}

const wantedWords: Readonly<Record<Wants, string>> = {
  number: 'an integer or a bool',
  'number or address': 'an integer or a bool, or an address',
  address: 'an address',
  addresses: 'a list of addresses',
}

/** @param isList whether viem returns these outputs as a list, and not by their names */
function stepsAmong(outputs: Outputs, names: readonly string[], isList: boolean, wants: Wants): Steps {
  const outputNames = outputs.map(({ name }, place) => name || String(place))
  const [name, ...innerNames] = names
  if (name === undefined) {
    throw new OptionEntryMistake(
      ['call'],
      `returns ${outputs.length} outputs: take says which one (${outputNames.join(', ')})`,
    )
  }
  const place = outputNames.includes(name) ? outputNames.indexOf(name) : /^\d+$/.test(name) ? Number(name) : -1
  const output = outputs[place]
  if (output === undefined)
    throw new OptionEntryMistake(['take'], `there is no output "${name}": take one of ${outputNames.join(', ')}`)
  return after(isList ? place : (output.name ?? place), stepsIn(output, innerNames, wants))
}

function argumentsOf(
  { name, inputs }: AbiFunction,
  args: readonly unknown[],
  names: ArgumentNames,
): readonly unknown[] {
  if (args.length !== inputs.length) {
    const types = inputs.map(input => `${input.type} ${input.name ?? ''}`.trim()).join(', ')
    const count = `${inputs.length} ${inputs.length === 1 ? 'argument' : 'arguments'}`
    throw new OptionEntryMistake(
      ['args'],
      `${name} takes ${count}${types === '' ? '' : ` (${types})`}, not ${args.length}`,
    )
  }
  return inputs.map((input, place) => argument(input, args[place], ['args', place], names))
}
