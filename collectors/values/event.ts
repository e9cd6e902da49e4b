import { type AbiEvent, type AbiFunction, type AbiParameter, toEventSelector } from 'viem'
import { argument, part } from './abi-argument.ts'
import { OptionEntryMistake } from './mistake.ts'
import { isNumber, parsedSignature } from './signature.ts'

/** An event as it is written: `{ event: 'Swap(address indexed who, uint256 amount)', where: { who: '0x…' } }`. */
export interface WrittenEvent {
  readonly event: string
  /** Conditions of arguments: a value, a list of which one must be met, or `{ min, max, not }`. */
  readonly where?: Readonly<Record<string, unknown>> | undefined
  /** An argument that is an integer or a bool, or a part of one: `fill.delta`. */
  readonly sum?: string | undefined
  readonly unique?: string | undefined
  /** The token of the sum: an argument, an address, or the signature of a view function of the emitting contract. */
  readonly token?: string | undefined
}

/** The token of an event. */
type EventToken =
  | { readonly kind: 'address'; readonly address: `0x${string}` }
  | { readonly kind: 'argument'; of(args: unknown): `0x${string}` }
  | { readonly kind: 'call'; readonly abi: AbiFunction }

/** An event by its signature, and which of its logs are meant. */
export interface ParsedEvent {
  readonly abi: AbiEvent
  /** Arguments that the node can filter by. */
  readonly indexed: Readonly<Record<string, unknown>>
  readonly token: EventToken | undefined
  /** Whether a log has the arguments that the node cannot filter by. */
  isMeant(args: unknown): boolean
  /** The number that is added up. */
  amount(args: unknown): bigint
  /** The argument whose different values are counted, as a text. */
  value(args: unknown): string
}

/** Whether logs with a first topic are of the event with that signature. */
export function isEventOf(signature: string, topic: unknown): boolean {
  return toEventSelector(parsedEvent(signature)) === topic
}

/** @throws OptionEntryMistake when it is no event, or an argument is not of it */
export function eventFilter({ event, where = {}, sum, unique, token }: WrittenEvent): ParsedEvent {
  const abi = parsedEvent(event)
  const summed = sum === undefined ? undefined : argumentAt(abi, sum, ['sum'])
  if (summed && !isNumber(summed.type.type)) {
    throw new OptionEntryMistake(['sum'], `must be an integer or a bool, and ${sum} is ${summed.type.type}`)
  }
  const counted = unique === undefined ? undefined : argumentAt(abi, unique, ['unique'])
  const wanted = Object.entries(where).map(([name, written]) => {
    const found = argumentAt(abi, name, ['where', name])
    return { name, ...found, ...conditionOf(found.type, written, ['where', name]) }
  })
  const [first] = abi.inputs.filter(({ indexed }) => indexed)
  const byNode = wanted.filter(({ isTopic, values }) => isTopic && values)
  if (abi.anonymous && first && !narrow.test(first.type) && !byNode.some(({ name }) => name === first.name)) {
    const known = first.name ? `: give ${first.name} under where` : ''
    throw new OptionEntryMistake(['event'], `is anonymous, and its first topic may be that of any other event${known}`)
  }
  const hashed = wanted.find(({ isTopic, type, values }) => isTopic && !values && isHashed(type))
  if (hashed) {
    throw new OptionEntryMistake(
      ['where', hashed.name],
      `must be values: a log has only a hash of this ${hashed.type.type}`,
    )
  }
  const own = wanted.filter(each => !byNode.includes(each))
  return {
    abi,
    indexed: Object.fromEntries(
      byNode.map(({ name, values = [] }) => [name, values.length === 1 ? values[0] : values]),
    ),
    token: token === undefined ? undefined : tokenOf(abi, token),
    isMeant: args => own.every(({ of, holds }) => holds(of(args))),
    amount: args => integer(summed?.of(args), sum),
    value: args => plain(counted?.of(args)),
  }
}

const integer = (value: unknown, name = '') => {
  if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean') return BigInt(value)
  throw new Error(`a log has no number at ${name}`)
}

/** An argument of an event, or a part of one. */
interface EventArgument {
  readonly type: AbiParameter
  /** Whether logs have it as a topic. */
  readonly isTopic: boolean
  of(args: unknown): unknown
}

/** @param name of the argument, with dots into a tuple or a list. @throws OptionEntryMistake */
function argumentAt(abi: AbiEvent, name: string, path: readonly string[]): EventArgument {
  const [first = '', ...rest] = name.split('.')
  const { indexed = false, ...parameter } = input(abi, first, path)
  const steps = [argumentKey(abi, first)]
  let type: AbiParameter = parameter
  for (const step of rest) {
    const list = /^(.*)\[\d*\]$/.exec(type.type)?.[1]
    const parts = list === undefined && 'components' in type ? type.components : []
    const names = parts.map((each, place) => each.name || String(place))
    if (list === undefined ? !names.includes(step) : !/^\d+$/.test(step)) {
      const known = list === undefined ? names.join(', ') || 'no parts' : 'places from 0 on'
      throw new OptionEntryMistake(path, `${name}: there is no part "${step}": ${type.type} has ${known}`)
    }
    const isByPlace = list !== undefined || parts.some(each => !each.name)
    steps.push(isByPlace ? (list === undefined ? names.indexOf(step) : Number(step)) : step)
    type = list === undefined ? (parts[names.indexOf(step)] ?? type) : { ...type, type: list }
  }
  return { type, isTopic: indexed && rest.length === 0, of: args => steps.reduce<unknown>(part, args) }
}

/** Whether a topic has only the hash of such an argument. */
const isHashed = ({ type }: AbiParameter) => /^(string|bytes|tuple)$|\]$/.test(type)

/** A condition of an argument. */
interface Condition {
  /** The only values that meet it, as viem takes them; absent where there are others. */
  readonly values?: readonly unknown[]
  holds(value: unknown): boolean
}

/** @throws OptionEntryMistake */
function conditionOf(type: AbiParameter, written: unknown, path: readonly string[]): Condition {
  const isWhole = 'components' in type || /\]$/.test(type.type)
  const typed = (each: unknown, ...more: readonly (string | number)[]) => argument(type, each, [...path, ...more])
  const listed = (some: unknown, ...more: readonly string[]) => {
    if (isWhole || !Array.isArray(some)) return [typed(some, ...more)]
    if (some.length === 0) throw new OptionEntryMistake([...path, ...more], 'must hold a value')
    return some.map((each, place) => typed(each, ...more, place))
  }
  if (isWhole || typeof written !== 'object' || written === null || Array.isArray(written)) {
    const values = listed(written)
    const texts = values.map(plain)
    return { values, holds: value => texts.includes(plain(value)) }
  }
  const bounds = /^u?int/.test(type.type) ? ['min', 'max'] : []
  const stray = Object.keys(written).find(key => ![...bounds, 'not'].includes(key))
  if (stray !== undefined || Object.keys(written).length === 0) {
    const form = bounds.length > 0 ? '{ min: 1, max: 5, not: 3 }' : '{ not: … }'
    throw new OptionEntryMistake(
      [...path, ...(stray === undefined ? [] : [stray])],
      `must be of a value, a list of values, or ${form}`,
    )
  }
  const { min, max, not } = written as { readonly min?: unknown; readonly max?: unknown; readonly not?: unknown }
  const [least, most] = [
    min === undefined ? undefined : typed(min, 'min'),
    max === undefined ? undefined : typed(max, 'max'),
  ]
  if (typeof least === 'bigint' && typeof most === 'bigint' && least > most)
    throw new OptionEntryMistake([...path, 'max'], 'must be at least min: nothing is in between')
  const excluded = (not === undefined ? [] : listed(not, 'not')).map(plain)
  return {
    holds(value) {
      if (typeof least === 'bigint' && integer(value) < least) return false
      if (typeof most === 'bigint' && integer(value) > most) return false
      return !excluded.includes(plain(value))
    },
  }
}

const notToken =
  'must be an argument of the event that is an address, an address, or a call of the contract like "token0() view returns (address)"'

/** @throws OptionEntryMistake */
function tokenOf(abi: AbiEvent, token: string): EventToken {
  if (/^0x[0-9a-f]{40}$/i.test(token)) return { kind: 'address', address: token as `0x${string}` }
  if (token.includes('(')) {
    const call = parsedSignature('function', token, 'token', notToken)
    const isFit = /^(view|pure)$/.test(call.stateMutability) && call.inputs.length === 0
    if (!isFit || call.outputs[0]?.type !== 'address') throw new OptionEntryMistake(['token'], notToken)
    return { kind: 'call', abi: call }
  }
  const { type, of } = argumentAt(abi, token, ['token'])
  if (type.type !== 'address') throw new OptionEntryMistake(['token'], `${notToken}; ${token} is ${type.type}`)
  return { kind: 'argument', of: args => of(args) as `0x${string}` }
}

/** @throws OptionEntryMistake */
function parsedEvent(event: string): AbiEvent {
  const signature = event.replace(/\)\s*anonymous\s*;?\s*$/, ')')
  const abi = parsedSignature('event', signature, 'event', `must be the signature of an event, ${example}`)
  return signature === event ? abi : { ...abi, anonymous: true }
}

/** Types of an indexed argument that no signature looks like: some of their 32 bytes are always the same. */
const narrow = /^(address|bool|bytes([1-9]|1\d|2[0-8])|u?int([1-9]\d?|1\d\d|2[01]\d|22[0-4]))$/

/** Key of an argument among those of a log: viem names them only where all have a name. */
export function argumentKey({ inputs }: AbiEvent, name: string): string | number {
  return inputs.some(each => !each.name) ? inputs.findIndex(each => each.name === name) : name
}

/** An argument of a log as a text that is equal for equal arguments. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    // viem decodes small integers as numbers.
    if (typeof each === 'bigint' || typeof each === 'number') return String(each)
    // viem spells an address with capitals, for its checksum.
    return typeof each === 'string' && /^0x[0-9a-f]{40}$/i.test(each) ? each.toLowerCase() : each
  })
}

const example = 'like "Transfer(address indexed from, address indexed to, uint256 value)"'

function input({ name: event, inputs }: AbiEvent, name: string, path: readonly string[]): AbiEvent['inputs'][number] {
  const found = inputs.find(each => each.name === name)
  if (found) return found
  const known = inputs.map(each => each.name).filter(Boolean)
  const words = known.length > 0 ? known.join(', ') : 'nothing: name its arguments in the signature'
  throw new OptionEntryMistake(path, `${event} has no argument "${name}": it has ${words}`)
}
