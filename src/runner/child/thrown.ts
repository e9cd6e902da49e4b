import { basename } from 'node:path'
import { inspect } from 'node:util'
import type { z } from 'zod'
import { meant } from '../../config/mistakes.ts'
import { networkFix, networkReason } from '../../edge/network-reason.ts'
import { Fault, type FaultCode } from '../../model/fault.ts'
import { shortened } from '../../model/text.ts'
import { collectorTextCharsMax } from '../messages.ts'

/** Cuts a text of a collector to a length that is safe to log and store. */
export function cut(text: string): string {
  return shortened(text, collectorTextCharsMax)
}

/** An unexpected value as text. Never throws, whatever the value does when inspected. */
export function shown(value: unknown): string {
  if (typeof value === 'bigint') return `${cut(String(value))}n`
  try {
    return cut(
      inspect(value, {
        depth: 1,
        maxArrayLength: 3,
        maxStringLength: 60,
        breakLength: Number.POSITIVE_INFINITY,
        getters: false,
      }),
    )
  } catch {
    return `a ${typeof value} that cannot be shown`
  }
}

/** Message and stack of any thrown value. Never throws. */
export function thrownText(error: unknown): { readonly message: string; readonly stack: string } {
  try {
    if (!(error instanceof Error)) return { message: shown(error), stack: '' }
    const { stack, name } = error
    const message = parseError(error) ?? withReasons(error)
    return { message: cut(inOneLine(String(message) || String(name))), stack: String(stack) }
  } catch {
    return { message: 'an error that cannot be shown', stack: '' }
  }
}

/** Reasons within an error that are quoted, and how deep. */
const reasonsMax = 3

/** The message of an error with those of the errors within it that it does not quote: of `Promise.any`, and of its cause. */
function withReasons(error: Error): string {
  const isAggregate = error instanceof AggregateError
  const leftCount = isAggregate ? error.errors.length - reasonsMax : 0
  const texts = [String(error.message)]
  for (const reason of reasonsIn(error)) if (!texts.join(' ').includes(reason)) texts.push(reason)
  const [message, ...reasons] = texts
  const reasonText = `${reasons.join(isAggregate ? '; ' : ': ')}${leftCount > 0 ? `; and ${leftCount} more` : ''}`
  return [message, reasonText].filter(Boolean).join(': ')
}

/** Messages of the errors within an error, the outer first. */
function reasonsIn(error: Error, depth = 0): readonly string[] {
  if (depth === reasonsMax) return []
  const reasons: readonly unknown[] = error instanceof AggregateError ? error.errors : [error.cause]
  return reasons
    .slice(0, reasonsMax)
    .flatMap(reason => (reason instanceof Error ? [String(reason.message), ...reasonsIn(reason, depth + 1)] : []))
}

/** Joins a message of several lines into one, as a log and a page show one line. */
function inOneLine(message: string): string {
  return message
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .join(' ')
}

/** Mistakes quoted when a collector's own schema refuses a value. */
const parseIssuesMax = 3

/** One line for a zod error, whose own message is a JSON text of many lines; `undefined` for other errors. */
function parseError(error: Error): string | undefined {
  if (!/^\$?ZodError$/.test(error.name) || !('issues' in error) || !Array.isArray(error.issues)) return undefined
  const issues: readonly z.core.$ZodIssue[] = error.issues
  const sentences = issues.slice(0, parseIssuesMax).map(issue => {
    const isOurs = /^(Invalid|Too (small|big)|Unrecognized|must )/.test(issue.message)
    const where = issue.path.map(String).join('.')
    return `${where === '' ? '' : `${where}: `}${isOurs ? plainWords(issue) : issue.message}`
  })
  const more = issues.length - sentences.length
  return `a value does not fit its schema: ${sentences.join('; ')}${more > 0 ? `; and ${more} more` : ''}`
}

/** Returns a Fault unchanged; else one of `code` with what was thrown, and where in the collector. */
export function faultOf(error: unknown, code: FaultCode, file: string | undefined): Fault {
  if (error instanceof Fault) return error
  const { message, stack } = thrownText(error)
  const at = file === undefined ? undefined : lineIn(stack, file)
  const facts = at === undefined ? {} : { at }
  const denied = deniedRead(error)
  if (denied !== undefined) return new Fault(code, denied, { facts, fix: readFix })
  const own = ofNode(error)
  return new Fault(code, own?.message ?? message, { facts, ...(own?.fix !== undefined && { fix: own.fix }) })
}

/** Errors of Node that name no cause, or a flag that a collector's process is not given, in words; `undefined` for others. */
function ofNode(error: unknown): { readonly message: string; readonly fix: string | undefined } | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, permission, cause } = error as { code?: unknown; permission?: unknown; cause?: unknown }
  if (code === 'ERR_ACCESS_DENIED') {
    const what = { FileSystemWrite: 'write files', ChildProcess: 'start programs', WorkerThreads: 'start threads' }
    const name = Object.entries(what).find(([known]) => known === permission)?.[1] ?? `use ${shown(permission)}`
    return { message: `a collector may not ${name}`, fix: 'a collector reads, and returns values: do that elsewhere' }
  }
  if (!(error instanceof TypeError) || error.message !== 'fetch failed' || !(cause instanceof Error)) return undefined
  return { message: `fetch failed: ${cut(networkReason(error))}`, fix: networkFix(error) }
}

/** Instruction for a collector that reads a file its process may not. */
export const readFix =
  'a collector reads its own folder (next to a configuration its imports alone), packages, and what its options declare with `path` and the configuration names'

/** Sentence for Node's error about a file that a process may not read; `undefined` for other errors. */
export function deniedRead(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_ACCESS_DENIED') return undefined
  const resource = 'resource' in error ? String(error.resource) : ''
  const isRead = 'permission' in error && error.permission === 'FileSystemRead'
  return isRead ? `${cut(resource)} may not be read by a collector` : undefined
}

/** `name.ts:12`: the first line of a stack that lies in `file`. */
function lineIn(stack: string, file: string): string | undefined {
  for (const line of stack.split('\n')) {
    const path = line.replace(/\?changed=[\d.]+/, '')
    const start = path.indexOf(encodeURI(file)) + encodeURI(file).length
    const number = path.includes(encodeURI(file)) ? /^:(\d+)/.exec(path.slice(start))?.[1] : undefined
    if (number !== undefined) return `${basename(file)}:${number}`
  }
  return undefined
}

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
  if (input === Number.POSITIVE_INFINITY || input === Number.NEGATIVE_INFINITY) return ', and not infinite'
  if (issue.code === 'invalid_type' && issue.expected === 'int' && typeof input === 'number') return `, not ${input}`
  // A coerced text that is no date.
  if (input instanceof Date) return ''
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
  const comparison = exact ? 'exactly' : inclusive === false ? beyond : side
  if (parts === undefined)
    return `must be ${comparison} ${origin === 'date' ? new Date(Number(bound)).toISOString() : bound}`
  const noun = Number(bound) === 1 ? parts : parts === 'entry' ? 'entries' : `${parts}s`
  return Number(bound) === 1 && comparison === 'at least'
    ? 'must not be empty'
    : `must have ${comparison} ${bound} ${noun}`
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
