import type { z } from 'zod'
import type { OptionMistake } from '../config/config.ts'
import { Fault } from '../model/fault.ts'
import type { Loaded } from './load.ts'
import type { CollectorRef } from './messages.ts'
import { plainWords } from './plain-words.ts'
import { thrownText } from './thrown.ts'

export type ParsedOptions =
  | { readonly ok: true; readonly options: unknown }
  | { readonly ok: false; readonly mistakes: readonly OptionMistake[] }

/**
 * The options of the configuration through the collector's own schema. Absent options are empty ones. Words of the
 * collector's author stand; all others are plain ones.
 *
 * @throws Fault `collector-unusable` when the schema itself throws
 */
export async function parseOptions({ definition }: Loaded, ref: CollectorRef): Promise<ParsedOptions> {
  const known: KnownKeys = new WeakMap()
  const error = (issue: z.core.$ZodRawIssue) => {
    if (issue.code === 'unrecognized_keys') known.set(issue.keys, keysOf(issue.inst))
    return plainWords(issue)
  }
  try {
    const parsed = await definition.options.safeParseAsync(ref.options ?? {}, { error })
    if (parsed.success) return { ok: true, options: parsed.data }
    return { ok: false, mistakes: parsed.error.issues.flatMap(issue => mistakesOf(issue, [], known)) }
  } catch (error) {
    throw new Fault('collector-unusable', `the options schema of ${ref.use} threw: ${thrownText(error).message}`)
  }
}

type Issue = z.core.$ZodIssue

/** The options that there are, by the list of those that there are not. */
type KnownKeys = WeakMap<readonly string[], readonly string[]>

/** Of the map that refuses a key. */
function keysOf(schema: unknown): string[] {
  const shape: unknown =
    typeof schema === 'object' && schema !== null && 'shape' in schema ? Reflect.get(schema, 'shape') : undefined
  return typeof shape === 'object' && shape !== null ? Object.keys(shape) : []
}

/** One mistake for each unknown key; of a union the branch that is of the value's kind and comes nearest. */
function mistakesOf(issue: Issue, before: readonly PropertyKey[], known: KnownKeys): OptionMistake[] {
  const path = [...before, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(key => ({
      path: plain([...path, key]),
      message: `unknown option "${key}"`,
      known: [...(known.get(issue.keys) ?? [])],
    }))
  }
  if (issue.code === 'invalid_union') {
    const [nearest] = issue.errors.filter(errors => !errors.some(isOfAnotherKind)).sort((a, b) => a.length - b.length)
    if (nearest && nearest.length > 0) return nearest.flatMap(part => mistakesOf(part, path, known))
  }
  return [{ path: plain(path), message: issue.message }]
}

/** Whether a branch of a union fails for the value as a whole: then another one was meant. */
function isOfAnotherKind({ path, code }: Issue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value')
}

function plain(path: readonly PropertyKey[]): (string | number)[] {
  return path.map(part => (typeof part === 'symbol' ? String(part) : part))
}
