import { type AbiEvent, type AbiFunction, type AbiParameter, toEventSelector } from 'viem'
import { argument, part } from './abi-argument.ts'
import { decimalNumber } from './fraction.ts'
import { OptionEntryMistake } from './mistake.ts'
import { isNumber, parsedSignature } from './signature.ts'

/** An event as it is written: `{ event: 'Swap(address indexed who, uint256 amount)', where: { who: '0x…' } }`. */
export interface WrittenEvent {
  readonly event: string
  /** Conditions of arguments: a value, a list of which one must be met, or `{ min, max, not }`. */
  readonly where?: Readonly<Record<string, unknown>> | undefined
  /** An argument that is an integer or a bool, or a part of one: `fill.delta`, `fees.*.amount`; one for each token. */
  readonly sum?: string | readonly string[] | undefined
  readonly unique?: string | undefined
  /** The token of the sum: an argument, an address, or the signature of a view function of the emitting contract. */
  readonly token?: string | readonly string[] | undefined
  /** A number, an argument that is an integer, or the signature of a view function of the emitting contract. */
  readonly factor?: string | number | undefined
}

/** The token of an event. */
export type EventToken =
  | { readonly kind: 'address'; readonly address: `0x${string}` }
  | { readonly kind: 'argument'; readonly of: Each<`0x${string}`>; readonly array?: string }
  | { readonly kind: 'call'; readonly abi: AbiFunction }

/** The values of an argument of a log: one for each item of the array that `*` stands for; without it, one for all. */
type Each<T> = (args: unknown) => (place: number) => T

/** Part of a log that counts: all of it, or one item of an array. */
interface EventItem {
  /** A number for each token. */
  readonly amounts: readonly bigint[]
  /** By place, those that an argument has. */
  readonly tokens: readonly (`0x${string}` | undefined)[]
  /** The factor that an argument has; 1 where none has. */
  readonly factor: bigint
  /** The argument whose different values are counted, as a text. */
  readonly value: string
}

/** An event by its signature, and which of its logs are meant. */
export interface ParsedEvent {
  readonly abi: AbiEvent
  /** Arguments that the node can filter by. */
  readonly indexed: Readonly<Record<string, unknown>>
  readonly tokens: readonly EventToken[]
  /** A view function of the emitting contract whose answer is the factor; absent where it is anything else. */
  readonly factorCall: AbiFunction | undefined
  /** The parts of a log that have the arguments by which the node cannot filter. */
  items(args: unknown): readonly EventItem[]
}

/** Whether logs with a first topic are of the event with that signature; none are of another text. */
export function isEventOf(signature: string, topic: unknown): boolean {
  const ownTopic = topicOf(signature)
  return ownTopic !== undefined && ownTopic === topic
}

/** The first topic of the logs of an event; `undefined` for another text. */
export function topicOf(signature: string): string | undefined {
  try {
    return toEventSelector(parsedEvent(signature))
  } catch (error) {
    if (error instanceof OptionEntryMistake) return undefined
    throw error
  }
}

/** @throws OptionEntryMistake when it is no event, or an argument is not of it */
export function eventFilter({ event, where: conditions = {}, sum, unique, token, factor }: WrittenEvent): ParsedEvent {
  const abi = parsedEvent(event)
  const terms = [sum ?? []].flat().map((name, place, { length }) => {
    return numberAt(abi, name, ['sum', ...(length > 1 ? [String(place)] : [])])
  })
  const countedArgument = unique === undefined ? undefined : argumentAt(abi, unique, ['unique'])
  const parsedConditions = Object.entries(conditions).map(([name, written]) => {
    const found = argumentAt(abi, name, ['where', name])
    return { name, ...found, ...conditionOf(found.type, written, ['where', name]) }
  })
  const [first] = abi.inputs.filter(({ indexed }) => indexed)
  const byNode = parsedConditions.filter(({ isTopic, values }) => isTopic && values)
  if (abi.anonymous && first && !narrow.test(first.type) && !byNode.some(({ name }) => name === first.name)) {
    const known = first.name ? `: give ${first.name} under where` : ''
    throw new OptionEntryMistake(['event'], `is anonymous, and its first topic may be that of any other event${known}`)
  }
  const hashCondition = parsedConditions.find(({ isTopic, type, values }) => isTopic && !values && isHashed(type))
  if (hashCondition) {
    throw new OptionEntryMistake(
      ['where', hashCondition.name],
      `must be values: a log has only a hash of this ${hashCondition.type.type}`,
    )
  }
  const localConditions = parsedConditions.filter(each => !byNode.includes(each))
  const tokens = [token ?? []].flat().map(name => tokenOf(abi, name))
  const { argument: factorArgument, call: factorCall } = factorOf(abi, factor)
  const arrays = [...terms, ...localConditions, countedArgument, factorArgument, ...tokens.map(argumentOf)].flatMap(
    each => each?.array ?? [],
  )
  const [array, other] = [...new Set(arrays)]
  if (other !== undefined)
    throw new OptionEntryMistake(['sum'], `must be of one array: ${array}.* and ${other}.* have items of their own`)
  const sizeOf = array === undefined ? () => 1 : argumentAt(abi, `${array}.*`, ['sum']).size
  return {
    abi,
    indexed: Object.fromEntries(
      byNode.map(({ name, values = [] }) => [name, values.length === 1 ? values[0] : values]),
    ),
    tokens,
    factorCall,
    items(args) {
      const [checks, amounts] = [
        localConditions.map(({ each, holds }) => [each(args), holds] as const),
        terms.map(({ each }) => each(args)),
      ]
      const [values, factors] = [countedArgument?.each(args), factorArgument?.each(args)]
      const tokenArguments = tokens.map(one => (one.kind === 'argument' ? one.of(args) : undefined))
      return Array.from({ length: sizeOf(args) }, (_, place) => place)
        .filter(place => checks.every(([at, holds]) => holds(at(place))))
        .map(place => ({
          amounts: amounts.map((at, number) => integer(at(place), [sum ?? ''].flat()[number])),
          tokens: tokenArguments.map(at => at?.(place)),
          factor: factors ? integer(factors(place), String(factor)) : 1n,
          value: plain(values?.(place)),
        }))
    },
  }
}

/** The argument that a token is; absent where it is something else. */
function argumentOf(token: EventToken): { readonly array?: string } | undefined {
  return token.kind === 'argument' ? token : undefined
}

/** @throws OptionEntryMistake where it is no number */
function numberAt(abi: AbiEvent, name: string, path: readonly string[]): EventArgument {
  const found = argumentAt(abi, name, path)
  if (isNumber(found.type.type)) return found
  throw new OptionEntryMistake(path, `must be an integer or a bool, and ${name} is ${found.type.type}`)
}

const notFactor =
  'must be a number like 0.003, an argument of the event, or a call of the contract like "fee() view returns (uint24)"'

/** The argument or the call that a factor is; neither where it is a number. @throws OptionEntryMistake */
function factorOf(
  abi: AbiEvent,
  factor: WrittenEvent['factor'],
): { readonly argument?: EventArgument; readonly call?: AbiFunction } {
  if (factor === undefined || decimalNumber.test(String(factor))) return {}
  const text = String(factor)
  if (!text.includes('(')) {
    if (!abi.inputs.some(({ name }) => name === text.split('.')[0])) throw new OptionEntryMistake(['factor'], notFactor)
    return { argument: numberAt(abi, text, ['factor']) }
  }
  const call = parsedSignature('function', text, 'factor', notFactor)
  const isFit = /^(view|pure)$/.test(call.stateMutability) && call.inputs.length === 0
  if (!isFit || !/^u?int/.test(call.outputs[0]?.type ?? '')) throw new OptionEntryMistake(['factor'], notFactor)
  return { call }
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
  /** Name of the array whose items `*` stands for; absent without one. */
  readonly array?: string
  readonly each: Each<unknown>
  /** Number of its values. */
  size(args: unknown): number
}

/** @param name of the argument, with dots into a tuple or a list. @throws OptionEntryMistake */
function argumentAt(abi: AbiEvent, name: string, path: readonly string[]): EventArgument {
  const [first = '', ...innerSteps] = name.split('.')
  const { indexed: isIndexed = false, ...parameter } = input(abi, first, path)
  const steps: (string | number)[] = [argumentKey(abi, first)]
  let type: AbiParameter = parameter
  let array: { readonly name: string; readonly steps: readonly (string | number)[] } | undefined
  for (const [place, step] of innerSteps.entries()) {
    const list = /^(.*)\[\d*\]$/.exec(type.type)?.[1]
    const parts = list === undefined && 'components' in type ? type.components : []
    const names = parts.map((each, place) => each.name || String(place))
    if (step === '*' && list !== undefined && !array) {
      array = { name: [first, ...innerSteps.slice(0, place)].join('.'), steps: [...steps] }
      steps.splice(0)
      type = { ...type, type: list }
      continue
    }
    if (list === undefined ? !names.includes(step) : !/^\d+$/.test(step)) {
      const known = list === undefined ? names.join(', ') || 'no parts' : 'places from 0 on, and * for each'
      throw new OptionEntryMistake(path, `${name}: there is no part "${step}": ${type.type} has ${known}`)
    }
    const isByPlace = list !== undefined || parts.some(each => !each.name)
    steps.push(isByPlace ? (list === undefined ? names.indexOf(step) : Number(step)) : step)
    type = list === undefined ? (parts[names.indexOf(step)] ?? type) : { ...type, type: list }
  }
  const isTopic = isIndexed && innerSteps.length === 0
  const arrayPlace = array
  if (!arrayPlace) {
    const each: Each<unknown> = args => () => steps.reduce<unknown>(part, args)
    return { type, isTopic, each, size: () => 1 }
  }
  const itemsOf = (args: unknown) => Object.values(Object(arrayPlace.steps.reduce<unknown>(part, args))) as unknown[]
  const eachValue: Each<unknown> = args => {
    const items = itemsOf(args)
    return place => steps.reduce<unknown>(part, items[place])
  }
  return { type, isTopic, array: arrayPlace.name, each: eachValue, size: args => itemsOf(args).length }
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
function conditionOf(type: AbiParameter, condition: unknown, path: readonly string[]): Condition {
  const isWhole = 'components' in type || /\]$/.test(type.type)
  const typedValue = (each: unknown, ...more: readonly (string | number)[]) => argument(type, each, [...path, ...more])
  const valuesOf = (entry: unknown, ...keys: readonly string[]) => {
    if (isWhole || !Array.isArray(entry)) return [typedValue(entry, ...keys)]
    if (entry.length === 0) throw new OptionEntryMistake([...path, ...keys], 'must hold a value')
    return entry.map((each, place) => typedValue(each, ...keys, place))
  }
  if (isWhole || typeof condition !== 'object' || condition === null || Array.isArray(condition)) {
    const values = valuesOf(condition)
    const texts = values.map(plain)
    return { values, holds: value => texts.includes(plain(value)) }
  }
  const bounds = /^u?int/.test(type.type) ? ['min', 'max'] : []
  const strayKey = Object.keys(condition).find(key => ![...bounds, 'not'].includes(key))
  if (strayKey !== undefined || Object.keys(condition).length === 0) {
    const form = bounds.length > 0 ? '{ min: 1, max: 5, not: 3 }' : '{ not: … }'
    throw new OptionEntryMistake(
      [...path, ...(strayKey === undefined ? [] : [strayKey])],
      `must be of a value, a list of values, or ${form}`,
    )
  }
  const limits = condition as { readonly min?: unknown; readonly max?: unknown; readonly not?: unknown }
  const [minimum, maximum] = [
    limits.min === undefined ? undefined : typedValue(limits.min, 'min'),
    limits.max === undefined ? undefined : typedValue(limits.max, 'max'),
  ]
  if (typeof minimum === 'bigint' && typeof maximum === 'bigint' && minimum > maximum)
    throw new OptionEntryMistake([...path, 'max'], 'must be at least min: nothing is in between')
  const exceptions = (limits.not === undefined ? [] : valuesOf(limits.not, 'not')).map(plain)
  return {
    holds(value) {
      if (typeof minimum === 'bigint' && integer(value) < minimum) return false
      if (typeof maximum === 'bigint' && integer(value) > maximum) return false
      return !exceptions.includes(plain(value))
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
  const { type, each, array } = argumentAt(abi, token, ['token'])
  if (type.type !== 'address') throw new OptionEntryMistake(['token'], `${notToken}; ${token} is ${type.type}`)
  return { kind: 'argument', of: each as Each<`0x${string}`>, ...(array !== undefined && { array }) }
}

/** @throws OptionEntryMistake */
function parsedEvent(event: string): AbiEvent {
  const text = event.trim().replace(/;$/, '').trimEnd()
  const signature = text.replace(/\)\s*anonymous$/, ')')
  const abi = parsedSignature('event', signature, 'event', `must be the signature of an event, ${example}`)
  return signature === text ? abi : { ...abi, anonymous: true }
}

/** Types of an indexed argument that no signature looks like: some of their 32 bytes are always the same. */
const narrow = /^(address|bool|bytes([1-9]|1\d|2[0-8])|u?int([1-9]\d?|1\d\d|2[01]\d|22[0-4]))$/

/** Key of an argument among those of a log: viem names them only where all have a name. */
export function argumentKey({ inputs }: AbiEvent, name: string): string | number {
  return inputs.some(each => !each.name) ? inputs.findIndex(each => each.name === name) : name
}

/** An argument of a log as a text that is equal for equal arguments. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    // viem decodes small integers as numbers.
    if (typeof item === 'bigint' || typeof item === 'number') return String(item)
    // viem spells an address with capitals, for its checksum.
    return typeof item === 'string' && /^0x[0-9a-f]{40}$/i.test(item) ? item.toLowerCase() : item
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
