import { AsyncLocalStorage } from 'node:async_hooks'
import { dirname, resolve } from 'node:path'
import type { z } from 'zod'
import { type OptionMistake, secretId, secretsWritten } from '../../config/config.ts'
import { optionsEdge, unreadSecret } from '../../edge/options-edge.ts'
import { Fault } from '../../model/fault.ts'
import type { CollectorRef } from '../messages.ts'
import type { Loaded } from './load.ts'
import { plainWords } from './thrown/plain-words.ts'
import { cut, thrownText } from './thrown/thrown.ts'

export type ParsedOptions =
  /** `declared` are the paths in them, absolute; `secrets` are their secrets, by `secretId`. */
  | {
      readonly ok: true
      readonly options: unknown
      readonly declared: readonly string[]
      readonly secrets: readonly string[]
    }
  | { readonly ok: false; readonly mistakes: readonly OptionMistake[] }

/** The options being parsed: several collectors' may be at the same time. */
const parsing = new AsyncLocalStorage<{
  readonly ref: CollectorRef
  readonly declared: string[]
  readonly secrets: string[]
}>()

/** Tells the schemas of `tidegauge` whose options are parsed. */
export function registerOptionsEdge(): void {
  optionsEdge.path = written => {
    const place = parsing.getStore()
    if (!place) return written
    const path = resolve(dirname(place.ref.configFile), written)
    place.declared.push(path)
    return path
  }
  optionsEdge.secret = written => {
    const place = parsing.getStore()
    const [asked] = place ? secretsWritten(written, place.ref.configFile) : []
    if (!place || !asked) return unreadSecret
    const id = secretId(asked.ref)
    place.secrets.push(id)
    return place.ref.secrets?.[id] ?? unreadSecret
  }
}

/**
 * Parses the options of the configuration with the collector's own schema; absent options are empty. Messages of the
 * collector's author are kept, others are reworded.
 *
 * @throws Fault `collector-unusable` when the schema itself throws
 */
export async function parseOptions({ definition }: Loaded, ref: CollectorRef): Promise<ParsedOptions> {
  const known: KnownKeys = new WeakMap()
  const declared: string[] = []
  const secrets: string[] = []
  const error = (issue: z.core.$ZodRawIssue) => {
    if (issue.code === 'unrecognized_keys') known.set(issue.keys, keysOf(issue.inst))
    return plainWords(issue)
  }
  try {
    const parsed = await parsing.run({ ref, declared, secrets }, () =>
      definition.options.safeParseAsync(ref.options ?? {}, { error }),
    )
    if (parsed.success) return { ok: true, options: parsed.data, declared, secrets }
    return { ok: false, mistakes: parsed.error.issues.flatMap(issue => mistakesOf(issue, [], known)) }
  } catch (error) {
    throw new Fault('collector-unusable', `the options schema of ${ref.use} threw: ${thrownText(error).message}`)
  }
}

type OptionIssue = z.core.$ZodIssue

/** Known option names, by the list of unknown ones. */
type KnownKeys = WeakMap<readonly string[], readonly string[]>

/** Names of the map that refuses a key. */
function keysOf(schema: unknown): string[] {
  const shape: unknown =
    typeof schema === 'object' && schema !== null && 'shape' in schema ? Reflect.get(schema, 'shape') : undefined
  return typeof shape === 'object' && shape !== null ? Object.keys(shape) : []
}

/** One mistake for each unknown key; of a union, the branch of the value's kind that comes nearest. */
function mistakesOf(issue: OptionIssue, before: readonly PropertyKey[], known: KnownKeys): OptionMistake[] {
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
  return [{ path: plain(path), message: cut(issue.message) }]
}

/** Whether a branch of a union fails for the value as a whole: another branch was meant then. */
function isOfAnotherKind({ path, code }: OptionIssue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value')
}

function plain(path: readonly PropertyKey[]): (string | number)[] {
  return path.map(part => (typeof part === 'symbol' ? String(part) : part))
}
