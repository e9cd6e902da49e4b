import type { z } from 'zod'
import { valueAt } from '../../model/json.ts'
import type { ValueMistake } from '../mistakes/mistakes.ts'
import { kindOf, meant, pathText, quoted } from '../mistakes/wording.ts'
import {
  choicesOf,
  exampleOf,
  examplesOf,
  expectationOf,
  isRequired,
  keysOf,
  partAt,
  type SchemaPart,
} from './schema-part.ts'

type ZodIssue = z.core.$ZodIssue
type IssuePath = readonly PropertyKey[]

/** A kind of file: its schema, and its words. */
export interface FileForm<S extends z.ZodType = z.ZodType> {
  readonly schema: S
  /** The JSON Schema of the file. */
  readonly json: () => SchemaPart
  /** Advice for an empty file. */
  readonly emptyFix: string
  /** Advice for a file that is not a map. */
  readonly wholeFix: string
  /** Of an included file: the JSON Schema of the main file, whose keys cannot stand here. */
  readonly main?: () => SchemaPart
}

/** Words zod's issues for an operator. Pure. */
export function explain(issues: readonly ZodIssue[], written: unknown, form: FileForm): ValueMistake[] {
  const whole = form.json()
  const mistakes = issues.flatMap(issue => explainIssue(issue, issue.path, written, whole))
  return mistakes.map(mistake => ofWhole(mistake, form))
}

/** Advice on a mistake of the whole file depends on the kind of file. */
function ofWhole(mistake: ValueMistake, { main, wholeFix }: FileForm): ValueMistake {
  const { path, at } = mistake.place
  if (path.length === 0 && at === 'value') return { ...mistake, fix: wholeFix }
  const name = String(path[0])
  if (path.length !== 1 || at !== 'key' || !keysOf(main?.()).includes(name)) return mistake
  const fix = 'an included file holds protocols and prices alone; put this key in the main file'
  return { place: mistake.place, message: `${name}: this key belongs to the main file`, fix }
}

function explainIssue(issue: ZodIssue, path: IssuePath, written: unknown, whole: SchemaPart): ValueMistake[] {
  const value = valueAt(written, path)
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map(key => unknownKey(path, key, whole))
    case 'invalid_key':
      return [wrongName(path)]
    case 'too_small':
    case 'too_big':
      return [outOfRange(issue, path, value, partAt(whole, path) ?? {})]
    case 'custom':
      return [
        {
          place: { path, at: 'value' },
          message: `${pathText(path)}: ${issue.message}`,
          ...fixOf(issue.params?.['fix']),
        },
      ]
    case 'invalid_union': {
      const branch = issue.errors.find(errors => !errors.some(isOfAnotherKind))
      if (branch) return branch.flatMap(inner => explainIssue(inner, [...path, ...inner.path], written, whole))
      return [wrongValue(path, value, whole)]
    }
    default:
      return [wrongValue(path, value, whole)]
  }
}

/** Whether a branch of a union fails for the value as a whole: another branch was meant then. */
function isOfAnotherKind(issue: ZodIssue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value')
}

const fixOf = (fix: unknown) => (typeof fix === 'string' ? { fix } : {})

/** Whether a path leads to a secret, or to a place where one may be by mistake: values there are not repeated. */
export function isSecret(path: IssuePath): boolean {
  const text = pathText(path)
  return (
    /^service(\.(key|url)\b|$)/.test(text) ||
    /^protocols\[\d+\]\.key\b/.test(text) ||
    isEndpoint(path) ||
    path[0] === 'data' ||
    path[0] === 'heartbeat' ||
    path[0] === 'notify'
  )
}

const isEndpoint = (path: IssuePath) => path[0] === 'chains' && path[2] === 'rpc'

function unknownKey(path: IssuePath, key: string, whole: SchemaPart): ValueMistake {
  const known = keysOf(partAt(whole, path))
  const near = meant(key, known)
  const name = isSecret(path) && near === undefined && path.length > 1 ? 'unknown key' : `unknown key ${quoted(key)}`
  return {
    place: { path: [...path, key], at: 'key' },
    message: path.length > 0 ? `${name} in ${pathText(path)}` : name,
    fix: near ? `did you mean ${quoted(near)}?` : `known here: ${known.join(', ')}`,
    ...(near && { meant: near }),
  }
}

function wrongName(path: IssuePath): ValueMistake {
  const message = `${pathText(path)}: the name of a chain or a price begins with a letter or digit and goes on with these, ". _ -" and blanks`
  return { place: { path, at: 'key' }, message, fix: 'write a name like ethereum or ETH' }
}

type RangeIssue = z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig

function outOfRange(issue: RangeIssue, path: IssuePath, value: unknown, part: SchemaPart): ValueMistake {
  const bound = issue.code === 'too_small' ? issue.minimum : issue.maximum
  const exact = issue.inclusive !== false
  const side = issue.code === 'too_small' ? (exact ? 'at least' : 'more than') : exact ? 'at most' : 'less than'
  const verb = issue.origin === 'array' ? 'have' : 'be'
  const noun = issue.origin === 'array' ? (Number(bound) === 1 ? ' entry' : ' entries') : ''
  const message = `${pathText(path)}: must ${verb} ${side} ${bound}${noun}`
  return { place: { path, at: 'value' }, message, fix: rewritten(value, part) }
}

function wrongValue(path: IssuePath, value: unknown, whole: SchemaPart): ValueMistake {
  const part = partAt(whole, path) ?? {}
  const where = pathText(path) || 'the file'
  if (value === undefined) return missing(path, part)
  if (value === null)
    return { place: { path, at: 'value' }, message: `${where}: has no value`, fix: writeOne(path, part, whole) }
  const kind = keptElsewhere(path)
  if (kind !== undefined) return literalSecret(kind, path, part)
  if (path.length === 0) return { place: { path, at: 'value' }, message: `the file is ${wholeKind(value)}, not a map` }
  const found = isSecret(path) && typeof value === 'string' ? 'text' : kindOf(value)
  const message = `${where}: must be ${expectationOf(part)}, not ${found}`
  return { place: { path, at: 'value' }, message, fix: rewritten(value, part) }
}

/** Kind of a whole file. A secret's file may be given by mistake, so its content is not repeated. */
const wholeKind = (value: unknown) => (typeof value === 'object' ? kindOf(value) : 'plain text')

/** Kind of a value that is never written in the file, only its place; `undefined` for another one. */
function keptElsewhere(path: IssuePath): string | undefined {
  if (path.at(-1) === 'key' && isSecret(path)) return 'a key'
  const text = pathText(path)
  if (text === 'data.postgres') return 'the address of a database'
  if (/^notify\[\d+\]\.telegram\.token$/.test(text)) return 'a token'
  return /^(heartbeat\.url|notify\[\d+\]\.(webhook|slack))$/.test(text) ? 'an address with a key in it' : undefined
}

function literalSecret(kind: string, path: IssuePath, part: SchemaPart): ValueMistake {
  const message = `${pathText(path)}: ${kind} is never written in this file, only its place`
  return { place: { path, at: 'value' }, message, fix: `write ${examplesOf(part).join(' or ')}` }
}

function missing(path: IssuePath, part: SchemaPart): ValueMistake {
  const example = exampleOf(part)
  const fix = example ? `add it, for example ${String(path.at(-1))}: ${example}` : `add it: ${part.description ?? ''}`
  return { place: { path: path.slice(0, -1), at: 'key' }, message: `missing: ${pathText(path)}`, fix }
}

function writeOne(path: IssuePath, part: SchemaPart, whole: SchemaPart): string {
  const example = exampleOf(part)
  const write = example ? `write one, for example ${example}` : 'write one'
  if (typeof path.at(-1) === 'number') return `${write}, or remove the entry`
  return isRequired(partAt(whole, path.slice(0, -1)), path.at(-1)) ? write : `${write}, or remove the key`
}

/** Fix: how to write the value that was probably meant. */
function rewritten(value: unknown, part: SchemaPart): string {
  const near = typeof value === 'string' ? meant(value, choicesOf(part)) : undefined
  if (near) return `did you mean ${near}?`
  const isScalar = typeof value === 'number' || typeof value === 'boolean'
  if (isScalar && part.type === 'string' && part.pattern === undefined) return `put it in quotes: "${value}"`
  const isNumber = part.type === 'integer' || part.type === 'number'
  if (isNumber && typeof value === 'string' && /^\d{1,15}$/.test(value)) return `write it without quotes: ${value}`
  if (part.type === 'integer' && typeof value === 'string') {
    if (/^0x[\da-f]{1,12}$/i.test(value)) return `write it as a decimal number: ${Number(value)}`
    if (/^\d[\d_,]{0,18}$/.test(value)) return `write its digits alone: ${value.replace(/[_,]/g, '')}`
  }
  if (part.type === 'boolean') return 'write true or false, without quotes'
  const examples = examplesOf(part)
  return examples.length > 0 ? `write it like ${examples.join(' or ')}` : `write ${expectationOf(part)}`
}
