import { type AbiParameter, encodeAbiParameters } from 'viem'
import { OptionEntryMistake } from './mistake.ts'
import { similarWord } from './similar-word.ts'

/** A part of a tuple or a list. */
export function part(value: unknown, step: string | number): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined
}

/** Meaning of names that are written in place of arguments: an address, or a whole number. */
export type ArgumentNames = Readonly<Record<string, `0x${string}` | bigint>>

/**
 * An argument of a function or an event, as viem takes it, from what is written in the configuration.
 *
 * @param path leads to it, for the mistake
 * @param names that may be written in place of addresses and whole numbers. Default: none
 * @throws OptionEntryMistake when it does not fit the type
 */
export function argument(
  input: AbiParameter,
  argumentList: unknown,
  path: readonly (string | number)[],
  names: ArgumentNames = {},
): unknown {
  const list = /^(.*)\[(\d*)\]$/.exec(input.type)
  if (list) {
    if (!Array.isArray(argumentList)) throw new OptionEntryMistake(path, `must be a list: ${input.type}`)
    const [, type = '', count] = list
    if (count && argumentList.length !== Number(count))
      throw new OptionEntryMistake(path, `must be a list of ${count}: ${input.type}`)
    return argumentList.map((each, place) => argument({ ...input, type }, each, [...path, place], names))
  }
  if ('components' in input) return tupleArgument(input.components, argumentList, path, names)
  const value = plainArgument(input.type, named(input.type, argumentList, names))
  if (value === undefined)
    throw new OptionEntryMistake(
      path,
      `must be ${wordsOf(input.type)}${exact(input.type, argumentList)}${near(input.type, argumentList, names)}`,
    )
  try {
    encodeAbiParameters([input], [value])
    return value
  } catch {
    throw new OptionEntryMistake(path, `must be ${wordsOf(input.type)}`)
  }
}

function tupleArgument(
  components: readonly AbiParameter[],
  value: unknown,
  path: readonly (string | number)[],
  names: ArgumentNames,
): unknown {
  const parts = components.map(({ name }, place) => (Array.isArray(value) ? place : (name ?? place)))
  const given = typeof value === 'object' && value !== null ? Object.keys(value) : []
  if (given.length !== parts.length || parts.some(key => !given.includes(String(key)))) {
    throw new OptionEntryMistake(
      path,
      `must be a map or a list of ${components.map(({ name, type }) => name || type).join(', ')}`,
    )
  }
  const values = components.map((component, place) => {
    const key = parts[place] ?? place
    return argument(component, part(value, key), [...path, key], names)
  })
  // As viem takes them: by name where all have one.
  if (components.some(({ name }) => !name)) return values
  return Object.fromEntries(components.map(({ name = '' }, place) => [name, values[place]]))
}

/** The written argument, or the meaning of its name where a value of that kind is wanted. */
function named(type: string, value: unknown, names: ArgumentNames): unknown {
  const meant = typeof value === 'string' && Object.hasOwn(names, value) ? names[value] : undefined
  if (typeof meant === 'bigint') return /^u?int/.test(type) ? String(meant) : value
  return type === 'address' ? (meant ?? value) : value
}

/** The argument as viem takes it; `undefined` when it does not fit the type. */
function plainArgument(type: string, argument: unknown): unknown {
  if (/^u?int/.test(type)) {
    if (typeof argument === 'number') return Number.isSafeInteger(argument) ? BigInt(argument) : undefined
    return typeof argument === 'string' && /^-?\d+$|^0x[0-9a-f]+$/i.test(argument) ? BigInt(argument) : undefined
  }
  if (type === 'bool') return typeof argument === 'boolean' ? argument : undefined
  if (typeof argument !== 'string') return undefined
  if (type === 'address') return /^0x[0-9a-f]{40}$/i.test(argument) ? argument.toLowerCase() : undefined
  if (type.startsWith('bytes')) return /^0x([0-9a-f]{2})*$/i.test(argument) ? argument : undefined
  return type === 'string' ? argument : undefined
}

function wordsOf(type: string): string {
  if (type === 'address') return 'an address in quotes: 0x and 40 hexadecimal digits'
  if (type === 'bool') return 'true or false'
  if (type === 'string') return 'text'
  return /^u?int/.test(type) ? `a whole number that fits ${type}` : `${type} in quotes: 0x and hexadecimal digits`
}

/** The name that was probably meant. */
function near(type: string, value: unknown, names: ArgumentNames): string {
  const kind = type === 'address' ? 'string' : 'bigint'
  const known = Object.keys(names).filter(name => typeof names[name] === kind)
  const meant = typeof value === 'string' ? similarWord(value, known) : undefined
  return meant === undefined ? '' : `: did you mean ${meant}?`
}

function exact(type: string, written: unknown): string {
  const isInexact = /^u?int/.test(type) && typeof written === 'number' && Number.isInteger(written)
  return isInexact ? ', and one beyond 2^53 is written in quotes' : ''
}
