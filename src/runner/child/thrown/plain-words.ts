import type { z } from 'zod'
import { meant } from '../../../config/mistakes.ts'

type AnyZodIssue = z.core.$ZodRawIssue | z.core.$ZodIssue

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  template_literal: 'text',
  number: 'a number',
  nan: 'a number',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  set: 'a list',
  object: 'a map',
  record: 'a map',
  map: 'a map',
  date: 'a date',
  null: 'nothing',
  undefined: 'absent',
  never: 'absent',
  void: 'absent',
  nonoptional: 'given',
}

const forms: Readonly<Record<string, string>> = {
  email: 'an e-mail address',
  url: 'an address like https://example.com',
  datetime: 'an instant like 2026-11-20T13:00:00Z',
  date: 'a date like 2026-11-20',
  time: 'a time like 13:00:00',
  duration: 'a duration of ISO 8601, like PT1H',
  uuid: 'a UUID',
  guid: 'a UUID',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  cidrv4: 'a range of IPv4 addresses like 10.0.0.0/8',
  cidrv6: 'a range of IPv6 addresses',
  base64: 'base64',
  base64url: 'base64 as in URLs',
  json_string: 'JSON',
  jwt: 'a JSON Web Token',
  e164: 'a telephone number like +15551234567',
  hex: 'hexadecimal digits',
  hostname: 'the name of a host',
  lowercase: 'in lowercase',
  uppercase: 'in uppercase',
}

/** A zod issue in the words of all other mistakes. Of the value only its kind is named: it may be a secret. Pure. */
export function plainWords(issue: AnyZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[String(issue.expected)] ?? 'of another kind'}${found(issue)}`
    case 'invalid_value':
      return choice(issue.values, issue.input)
    case 'too_small':
      return size(issue, 'at least', 'more than', issue.minimum)
    case 'too_big':
      return size(issue, 'at most', 'less than', issue.maximum)
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'invalid_format':
      return form(issue)
    case 'invalid_union':
      return union(issue)
    case 'invalid_key':
      return `has a name that is not allowed here${issue.issues[0] ? `: it ${issue.issues[0].message}` : ''}`
    case 'unrecognized_keys':
      return `unknown option ${issue.keys.map(key => `"${key}"`).join(', ')}`
    default:
      return 'is not a value that it may have'
  }
}

/** Kind of the value; empty when there is none, or it is not known. */
function found(issue: AnyZodIssue): string {
  const { input } = issue
  if (input === undefined || !('input' in issue)) return ''
  if (input === null) return ', not nothing'
  if (typeof input === 'number' && Number.isNaN(input)) return ', not something else'
  if (issue.code === 'invalid_type' && issue.expected === 'int' && typeof input === 'number') return `, not ${input}`
  return `, not ${Array.isArray(input) ? 'a list' : (kinds[typeof input] ?? 'something else')}`
}

function choice(values: readonly unknown[], input: unknown): string {
  const words = values.map(String)
  const near = typeof input === 'string' ? meant(input, words) : undefined
  return `must be ${either(words)}${near === undefined ? '' : `: did you mean ${near}?`}`
}

function either(words: readonly string[]): string {
  const shown = [...new Set(words)]
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} or ${shown.at(-1)}`
}

type SizeIssue = {
  readonly origin: string
  readonly inclusive?: boolean | undefined
  readonly exact?: boolean | undefined
}

function size({ origin, inclusive, exact }: SizeIssue, side: string, beyond: string, bound: number | bigint): string {
  const parts = { string: 'character', array: 'entry', set: 'entry', map: 'entry', object: 'entry' }[origin]
  const how = exact ? 'exactly' : inclusive === false ? beyond : side
  if (parts === undefined) return `must be ${how} ${origin === 'date' ? new Date(Number(bound)).toISOString() : bound}`
  const noun = Number(bound) === 1 ? parts : parts === 'entry' ? 'entries' : `${parts}s`
  return Number(bound) === 1 && how === 'at least' ? 'must not be empty' : `must have ${how} ${bound} ${noun}`
}

function form(issue: AnyZodIssue): string {
  if (issue.code !== 'invalid_format') return ''
  const { format } = issue
  if ('prefix' in issue && issue['prefix'] !== undefined) return `must begin with "${issue['prefix']}"`
  if ('suffix' in issue && issue['suffix'] !== undefined) return `must end with "${issue['suffix']}"`
  if ('includes' in issue && issue['includes'] !== undefined) return `must hold "${issue['includes']}"`
  const known = forms[format]
  if (known !== undefined) return `must be ${known}`
  return 'pattern' in issue && issue['pattern'] !== undefined
    ? `must have the form ${issue['pattern']}`
    : `must have the form "${format}"`
}

/** Wording for a union: all kinds, if each branch wants another; else the branch that comes nearest. */
function union(issue: AnyZodIssue): string {
  if (issue.code !== 'invalid_union') return ''
  if ('options' in issue && Array.isArray(issue.options)) return choice(issue.options, undefined)
  const first = issue.errors.flatMap(([one]) => one ?? [])
  const wanted = first.flatMap(one => /^must be ([^:,]+)/.exec(one.message)?.[1] ?? [])
  return wanted.length === first.length && wanted.length > 0
    ? `must be ${either(wanted)}`
    : 'has none of the forms it may have'
}
