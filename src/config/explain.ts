import { z } from 'zod'
import { isRecord, valueAt } from '../model/json.ts'
import type { CollectorConfig, OptionMistake } from './config.ts'
import { inline, inOrder, kindOf, meant, type PlacedMistake, pathText, quoted, type ValueMistake } from './mistakes.ts'
import { includedFile, operatorFile } from './schema.ts'

type ZodIssue = z.core.$ZodIssue
type IssuePath = readonly PropertyKey[]

/** A kind of file: its schema, and its words. */
export interface FileForm<S extends z.ZodType = z.ZodType> {
  readonly schema: S
  /** The JSON Schema of the file. */
  readonly json: () => JsonSchema
  /** Advice for an empty file. */
  readonly emptyFix: string
  /** Advice for a file that is not a map. */
  readonly wholeFix: string
  /** Of an included file: the JSON Schema of the main file, whose keys cannot stand here. */
  readonly main?: () => JsonSchema
}

/** Words zod's issues for an operator. Pure. */
export function explain(issues: readonly ZodIssue[], written: unknown, form: FileForm): ValueMistake[] {
  const fileSchema = form.json()
  const mistakes = issues.flatMap(issue => explainIssue(issue, issue.path, written, fileSchema))
  return mistakes.map(mistake => ofWhole(mistake, form))
}

/** Advice on a mistake of the whole file depends on the kind of file. */
function ofWhole(mistake: ValueMistake, { main, wholeFix }: FileForm): ValueMistake {
  const { path, side } = mistake.place
  if (path.length === 0 && side === 'value') return { ...mistake, fix: wholeFix }
  const name = String(path[0])
  if (path.length !== 1 || side !== 'key' || !keysOf(main?.()).includes(name)) return mistake
  const fix = 'an included file holds protocols, prices, tokenPrices and lists alone; put this key in the main file'
  return { place: mistake.place, message: `${name}: this key belongs to the main file`, fix }
}

function explainIssue(issue: ZodIssue, path: IssuePath, tree: unknown, fileSchema: JsonSchema): ValueMistake[] {
  const value = valueAt(tree, path)
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map(key => unknownKey(path, key, fileSchema))
    case 'invalid_key':
      return [wrongName(path)]
    case 'too_small':
    case 'too_big':
      return [outOfRange(issue, path, value, partAt(fileSchema, path) ?? {})]
    case 'custom':
      return [
        {
          place: { path, side: 'value' },
          message: `${pathText(path)}: ${issue.message}`,
          ...fixOf(issue.params?.['fix']),
        },
      ]
    case 'invalid_union': {
      const branch = issue.errors.find(errors => !errors.some(isOfAnotherKind))
      if (branch) return branch.flatMap(inner => explainIssue(inner, [...path, ...inner.path], tree, fileSchema))
      return [wrongValue(path, value, fileSchema)]
    }
    default:
      return [wrongValue(path, value, fileSchema)]
  }
}

/** Whether a branch of a union fails for the value as a whole: another branch was meant then. */
function isOfAnotherKind(issue: ZodIssue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value')
}

const fixOf = (fix: unknown) => (typeof fix === 'string' ? { fix } : {})

/** Whether a path leads to a secret, or to a place where one may be by mistake: values there are not repeated. */
function isSecret(path: IssuePath): boolean {
  const text = pathText(path)
  return (
    /^service(\.(key|url|headers|certificate)\b|$)/.test(text) ||
    /^protocols\[\d+\]\.key\b/.test(text) ||
    isEndpoint(path) ||
    path[0] === 'proxy' ||
    path[0] === 'data' ||
    path[0] === 'heartbeat' ||
    path[0] === 'notify'
  )
}

const isEndpoint = (path: IssuePath) => path[0] === 'chains' && path[2] === 'rpc'

function unknownKey(path: IssuePath, key: string, fileSchema: JsonSchema): ValueMistake {
  const keys = keysOf(partAt(fileSchema, path))
  const holder = holderOf(key, partAt(fileSchema, path))
  // A key that another map has is no misspelt one of this.
  const suggestion = holder?.isOnly ? undefined : meant(key, keys)
  const name =
    isSecret(path) && suggestion === undefined && path.length > 1 ? 'unknown key' : `unknown key ${quoted(key)}`
  const knownKeys = `known here: ${keys.join(', ')}`
  const belongs = holder && `it belongs under ${holder.name}:`
  // A map that takes any key may not know this one.
  const advice = holder?.isOnly
    ? `${belongs}`
    : belongs
      ? `${belongs}, if the collector has it; ${knownKeys}`
      : knownKeys
  return {
    place: { path: [...path, key], side: 'key' },
    message: path.length > 0 ? `${name} in ${pathText(path)}` : name,
    fix: suggestion ? `did you mean ${quoted(suggestion)}?` : advice,
    ...(suggestion && { meant: suggestion }),
  }
}

/** The key of a map under which an unknown key belongs: the only one that knows it, else one that takes any. */
function holderOf(key: string, part: JsonSchema | undefined) {
  const maps = alternatives(part ?? {}).flatMap(one => Object.entries(one.properties ?? {}))
  const holders = maps.filter(([, inner]) => isPart(inner) && keysOf(inner).includes(key))
  const isOnly = holders.length === 1
  const [name] = (isOnly ? holders[0] : maps.find(([, inner]) => isPart(inner) && takesAnyKey(inner))) ?? []
  return name === undefined ? undefined : { name, isOnly }
}

function takesAnyKey({ additionalProperties }: JsonSchema): boolean {
  return isPart(additionalProperties) && Object.keys(additionalProperties).length === 0
}

function wrongName(path: IssuePath): ValueMistake {
  const message = `${pathText(path)}: a name begins with a letter or digit and goes on with these, ". _ -" and blanks`
  return { place: { path, side: 'key' }, message, fix: 'write a name like ethereum or ETH' }
}

type RangeIssue = z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig

function outOfRange(issue: RangeIssue, path: IssuePath, value: unknown, part: JsonSchema): ValueMistake {
  const bound = issue.code === 'too_small' ? issue.minimum : issue.maximum
  const exact = issue.inclusive !== false
  const comparison = issue.code === 'too_small' ? (exact ? 'at least' : 'more than') : exact ? 'at most' : 'less than'
  const verb = issue.origin === 'array' ? 'have' : 'be'
  const noun = issue.origin === 'array' ? (Number(bound) === 1 ? ' entry' : ' entries') : ''
  const message = `${pathText(path)}: must ${verb} ${comparison} ${bound}${noun}`
  return { place: { path, side: 'value' }, message, fix: rewritten(value, part) }
}

function wrongValue(path: IssuePath, value: unknown, fileSchema: JsonSchema): ValueMistake {
  const part = partAt(fileSchema, path) ?? {}
  const shownPath = pathText(path) || 'the file'
  if (value === undefined) return missing(path, part)
  if (value === null)
    return {
      place: { path, side: 'value' },
      message: `${shownPath}: has no value`,
      fix: writeOne(path, part, fileSchema),
    }
  const kind = keptElsewhere(path)
  if (kind !== undefined) return literalSecret(kind, path, part)
  if (path.length === 0)
    return { place: { path, side: 'value' }, message: `the file is ${wholeKind(value)}, not a map` }
  const found = isSecret(path) && typeof value === 'string' ? 'text' : kindOf(value)
  const message = `${shownPath}: must be ${expectationOf(part)}, not ${found}`
  const isMapForList = isRecord(value) && part.type === 'array' && isRecord(part.items) && part.items.type === 'object'
  const mistake: ValueMistake = { place: { path, side: 'value' }, message, fix: rewritten(value, part) }
  return isMapForList ? { ...mistake, isMapForList } : mistake
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

function literalSecret(kind: string, path: IssuePath, part: JsonSchema): ValueMistake {
  const message = `${pathText(path)}: ${kind} is never written in this file, only its place`
  return { place: { path, side: 'value' }, message, fix: `write ${examplesOf(part).join(' or ')}` }
}

function missing(path: IssuePath, part: JsonSchema): ValueMistake {
  const example = exampleOf(part)
  const fix = example ? `add it, for example ${String(path.at(-1))}: ${example}` : `add it: ${part.description ?? ''}`
  return { place: { path: path.slice(0, -1), side: 'key' }, message: `missing: ${pathText(path)}`, fix }
}

function writeOne(path: IssuePath, part: JsonSchema, fileSchema: JsonSchema): string {
  const example = exampleOf(part)
  const write = example ? `write one, for example ${example}` : 'write one'
  if (typeof path.at(-1) === 'number') return `${write}, or remove the entry`
  return isRequired(partAt(fileSchema, path.slice(0, -1)), path.at(-1)) ? write : `${write}, or remove the key`
}

/** Fix: how to write the value that was probably meant. */
function rewritten(value: unknown, part: JsonSchema): string {
  const suggestion = typeof value === 'string' ? meant(value, choicesOf(part)) : undefined
  if (suggestion) return `did you mean ${suggestion}?`
  const isScalar = typeof value === 'number' || typeof value === 'boolean'
  if (isScalar && part.type === 'string' && part.pattern === undefined) return `put it in quotes: "${value}"`
  const isNumber = part.type === 'integer' || part.type === 'number'
  if (isNumber && typeof value === 'string' && /^\d{1,15}$/.test(value)) return `write it without quotes: ${value}`
  if (part.type === 'integer' && typeof value === 'string') {
    if (/^0x[\da-f]{1,12}$/i.test(value)) return `write it as a decimal number: ${Number(value)}`
    if (/^\d{1,3}([_,]\d{3}){1,4}$/.test(value)) return `write its digits alone: ${value.replace(/[_,]/g, '')}`
  }
  if (part.type === 'boolean') return 'write true or false, without quotes'
  const examples = examplesOf(part)
  return examples.length > 0 ? `write it like ${examples.join(' or ')}` : `write ${expectationOf(part)}`
}

const isPart = (schema: unknown): schema is JsonSchema => typeof schema === 'object' && schema !== null
const asPart = (schema: unknown): JsonSchema[] => (isPart(schema) ? [schema] : [])
const alternatives = (part: JsonSchema): JsonSchema[] => (part.anyOf ? part.anyOf.flatMap(asPart) : [part])

/** The part at a path; `undefined` where the file may hold any value, or none. */
export function partAt(fileSchema: JsonSchema, path: readonly PropertyKey[]): JsonSchema | undefined {
  return path.reduce<JsonSchema[]>(
    (parts, step) => parts.flatMap(alternatives).flatMap(part => child(part, step)),
    [fileSchema],
  )[0]
}

function child(part: JsonSchema, step: PropertyKey): JsonSchema[] {
  if (typeof step === 'number') return asPart(part.items)
  const own = part.properties?.[String(step)]
  return asPart(own ?? part.additionalProperties)
}

/** Keys that a map at this part may have, if they are a closed list; else empty. */
export function keysOf(part: JsonSchema | undefined): string[] {
  return part ? alternatives(part).flatMap(one => Object.keys(one.properties ?? {})) : []
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
}

/** Expected value of a part in words: `text`, `embedded or a map`, `debug, info, warn or error`. */
function expectationOf(part: JsonSchema): string {
  const words = alternatives(part).flatMap(one => {
    const fixed = choicesOf(one)
    return fixed.length > 0 ? fixed : [typeWords[String(one.type)] ?? 'something else']
  })
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** Texts a value may be, if they are a closed list; else empty. */
function choicesOf(part: JsonSchema): string[] {
  return alternatives(part).flatMap(one => (one.const === undefined ? (one.enum ?? []) : [one.const]).map(String))
}

/** Examples of a part's value, each on one line; empty when there are none. */
function examplesOf(part: JsonSchema | undefined): string[] {
  const values: readonly unknown[] = part?.examples ?? (part?.default === undefined ? [] : [part.default])
  return values.map(inline)
}

/** The first example. */
export function exampleOf(part: JsonSchema | undefined): string | undefined {
  return examplesOf(part)[0]
}

/** Whether a map at this part requires a key. */
function isRequired(part: JsonSchema | undefined, key: PropertyKey | undefined): boolean {
  return part !== undefined && alternatives(part).some(one => one.required?.includes(String(key)))
}

/** A JSON Schema of a file or of one part of it: its keys, values and examples. */
export type JsonSchema = z.core.JSONSchema.JSONSchema

/** The JSON Schema of a file, for messages. */
export function jsonSchema(file: z.ZodType = operatorFile): JsonSchema {
  return z.toJSONSchema(file, {
    io: 'input',
    reused: 'inline',
    // zod takes examples for outputs and leaves them out before a transform; ours are inputs.
    override({ zodSchema, jsonSchema }) {
      const examples = z.globalRegistry.get(zodSchema)?.examples
      if (Array.isArray(examples)) jsonSchema.examples = examples
    },
  })
}

/** Keys of a file that are not read: anchors may stand there. */
const patternProperties = { '^x-': { description: 'Not read: values with anchors (&) for use elsewhere in the file.' } }

/**
 * The JSON Schema of a file, without the options of collectors, which `tidegauge schema` adds.
 */
export function editorSchema(kind: 'main' | 'included'): JsonSchema {
  if (kind === 'included') return { ...jsonSchema(includedFile), patternProperties, minProperties: 1 }
  return { ...jsonSchema(), patternProperties, anyOf: [{ required: ['protocols'] }, { required: ['include'] }] }
}

/** JSON Schemas of the options of collectors, by `use`. */
type OptionsSchemas = Readonly<Record<string, unknown>>

const entryPath = ['properties', 'protocols', 'items', 'properties', 'collectors', 'items']
/** Keys of the sections whose lists of sources a collector of that name reads. */
const sourceSections = { prices: 'price', tokenPrices: 'token-price' } as const
const listsPath = ['properties', 'lists']

/**
 * The JSON Schema of a file with the options of collectors: those of `use` at each entry, and the sources of prices and the
 * lists, which the collectors `price` and `list` read. Each is a definition of its own.
 */
export function withOptions(file: JsonSchema, schemas: OptionsSchemas): JsonSchema {
  const fileSchema = structuredClone(file)
  const entry = valueAt(fileSchema, entryPath)
  const uses = Object.keys(schemas)
  if (isRecord(entry)) {
    Object.assign(entry, { allOf: uses.map(use => conditionOf(use, schemas[use])) })
    const use = valueAt(entry, ['properties', 'use'])
    // Names are offered, and any other text is valid.
    if (isRecord(use)) Object.assign(use, { anyOf: [{ enum: uses }, { type: 'string' }] })
  }
  for (const [section, use] of Object.entries(sourceSections)) {
    const prices = valueAt(fileSchema, ['properties', section, 'additionalProperties'])
    // Of a price that has tokens, too, the list is one of its keys.
    const lists = [prices, valueAt(prices, ['anyOf', 0]), valueAt(prices, ['anyOf', 1, 'properties', 'sources'])]
    const source = valueAt(schemas[use], ['properties', 'sources', 'items'])
    for (const list of lists) {
      if (!isRecord(list) || !isRecord(list['items']) || !isRecord(source)) continue
      const { description } = list['items']
      Object.assign(list, { items: { description, $ref: `${pathOf(use)}/properties/sources/items` } })
    }
  }
  const lists = valueAt(fileSchema, listsPath)
  if (isRecord(lists) && isRecord(lists['additionalProperties']) && schemas['list']) {
    const { description } = lists['additionalProperties']
    Object.assign(lists, { additionalProperties: { description, $ref: pathOf('list') } })
  }
  const $defs = Object.fromEntries(uses.map(use => [nameOf(use), placed(schemas[use], pathOf(use))]))
  return Object.assign(fileSchema, { $defs })
}

function conditionOf(use: string, schema: unknown) {
  const requiredOptions = valueAt(schema, ['required'])
  const isDemanding = Array.isArray(requiredOptions) && requiredOptions.length > 0
  const options = { properties: { options: { $ref: pathOf(use) } }, ...(isDemanding && { required: ['options'] }) }
  const condition = { properties: { use: { const: use } }, required: ['use'] }
  return Object.fromEntries([
    ['if', condition],
    ['then', options],
  ])
}

/** Name of a definition: one that needs no escapes in a reference. */
const nameOf = (use: string) => `options of ${use}`.replace(/[^\w.-]+/g, '-')

const pathOf = (use: string) => `#/$defs/${nameOf(use)}`

/** A schema at another place: its references to itself lead there. */
function placed(schema: unknown, path: string): unknown {
  if (Array.isArray(schema)) return schema.map(part => placed(part, path))
  if (!isRecord(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, part]) => {
      if (name === '$schema') return []
      if (name === '$ref' && typeof part === 'string') return [[name, part.replace(/^#/, path)]]
      return [[name, placed(part, path)]]
    }),
  )
}

/**
 * A collector's option mistakes with their places in the file, worded like other mistakes. An unknown option is first
 * compared with missing ones: if one was meant, that is one mistake. So is a map that is wrong as a whole and has a
 * mistyped option.
 */
export function optionMistakes(collector: CollectorConfig, mistakes: readonly OptionMistake[]): PlacedMistake[] {
  const missingOptions = mistakes.filter(
    mistake => !isUnknown(mistake) && valueAt(collector.options, mistake.path) === undefined,
  )
  const meantBy = new Map(mistakes.filter(isUnknown).map(mistake => [mistake, nearest(mistake, missingOptions)]))
  const echoes = new Set<OptionMistake | undefined>([...meantBy.values(), ...mistakes.filter(isEchoIn(mistakes))])
  const placedMistakes = mistakes
    .filter(mistake => !echoes.has(mistake))
    .map(mistake => {
      if (isUnknown(mistake)) return unknown(collector, mistake, meantBy.get(mistake))
      return missingOptions.includes(mistake) ? absent(collector, mistake) : wrong(collector, mistake)
    })
  return inOrder(placedMistakes)
}

const ofOptions = (path: readonly PropertyKey[]) => ['options', ...path]

const isUnknown = ({ message }: OptionMistake) => message.startsWith('unknown option')

/** Whether a mistake is one of a map as a whole in which an option is mistyped. */
function isEchoIn(mistakes: readonly OptionMistake[]): (mistake: OptionMistake) => boolean {
  const typos = mistakes.filter(({ path, knownNames = [], ...mistake }) => {
    return isUnknown({ path, ...mistake }) && meant(String(path.at(-1)), knownNames) !== undefined
  })
  const maps = new Set(typos.map(({ path }) => pathText(path.slice(0, -1))))
  return mistake => !isUnknown(mistake) && maps.has(pathText(mistake.path))
}

/** The missing option of the same map that an unknown one was probably meant for. */
function nearest({ path }: OptionMistake, missingOptions: readonly OptionMistake[]): OptionMistake | undefined {
  const around = (full: OptionMistake['path']) => pathText(full.slice(0, -1))
  const here = missingOptions.filter(other => other.path.length > 0 && around(other.path) === around(path))
  const names = here.map(other => String(other.path.at(-1)))
  return here[names.indexOf(meant(String(path.at(-1)), names) ?? '')]
}

function unknown(
  { use, placeOf }: CollectorConfig,
  { path, knownNames = [] }: OptionMistake,
  missingOption: OptionMistake | undefined,
): PlacedMistake {
  const name = String(path.at(-1))
  const suggestion = missingOption ? String(missingOption.path.at(-1)) : meant(name, knownNames)
  const here = knownNames.length > 0 ? `known here: ${knownNames.join(', ')}` : `${use} has no such option`
  // Most want a sum or a change over a day.
  const advice = name === 'hours' ? `${here}; windows of hours are for use: derived` : here
  return {
    place: placeOf(path, 'key'),
    message: `unknown option ${quoted(name)} of ${use}`,
    fix: suggestion === undefined ? advice : `did you mean ${quoted(suggestion)}?`,
  }
}

function absent({ use, placeOf, pathOf }: CollectorConfig, { path, message }: OptionMistake): PlacedMistake {
  // The collector that reads a price is in no operator's file.
  const suffix = pathOf ? '' : ` of ${use}`
  return {
    place: placeOf(path),
    message: `missing: ${pathText((pathOf ?? ofOptions)(path))}${suffix}`,
    fix: `add it: ${message.replace(/^must be /, '')}`,
  }
}

function wrong({ placeOf, pathOf = ofOptions }: CollectorConfig, { path, message }: OptionMistake): PlacedMistake {
  return { place: placeOf(path), message: `${pathText(pathOf(path))}: ${message}` }
}
