import { inline } from '../mistakes/wording.ts'
import type { JsonSchema } from './json-schema.ts'

/** The JSON Schema of one part of the file: its keys, values and examples. */
export type SchemaPart = JsonSchema

const isPart = (schema: unknown): schema is SchemaPart => typeof schema === 'object' && schema !== null
const asPart = (schema: unknown): SchemaPart[] => (isPart(schema) ? [schema] : [])
const alternatives = (part: SchemaPart): SchemaPart[] => (part.anyOf ? part.anyOf.flatMap(asPart) : [part])

/** The part at a path; `undefined` where the file may hold any value, or none. */
export function partAt(whole: SchemaPart, path: readonly PropertyKey[]): SchemaPart | undefined {
  return path.reduce<SchemaPart[]>(
    (parts, step) => parts.flatMap(alternatives).flatMap(part => child(part, step)),
    [whole],
  )[0]
}

function child(part: SchemaPart, step: PropertyKey): SchemaPart[] {
  if (typeof step === 'number') return asPart(part.items)
  const own = part.properties?.[String(step)]
  return asPart(own ?? part.additionalProperties)
}

/** Keys that a map at this part may have, if they are a closed list; else empty. */
export function keysOf(part: SchemaPart | undefined): string[] {
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
export function expectationOf(part: SchemaPart): string {
  const words = alternatives(part).flatMap(one => {
    const fixed = choicesOf(one)
    return fixed.length > 0 ? fixed : [typeWords[String(one.type)] ?? 'something else']
  })
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** Texts a value may be, if they are a closed list; else empty. */
export function choicesOf(part: SchemaPart): string[] {
  return alternatives(part).flatMap(one => (one.const === undefined ? (one.enum ?? []) : [one.const]).map(String))
}

/** Examples of a part's value, each on one line; empty when there are none. */
export function examplesOf(part: SchemaPart | undefined): string[] {
  const values: readonly unknown[] = part?.examples ?? (part?.default === undefined ? [] : [part.default])
  return values.map(inline)
}

/** The first example. */
export function exampleOf(part: SchemaPart | undefined): string | undefined {
  return examplesOf(part)[0]
}

/** Whether a map at this part requires a key. */
export function isRequired(part: SchemaPart | undefined, key: PropertyKey | undefined): boolean {
  return part !== undefined && alternatives(part).some(one => one.required?.includes(String(key)))
}
