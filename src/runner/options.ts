import type { z } from 'zod'
import type { OptionMistake } from '../config/config.ts'
import { Fault } from '../model/fault.ts'
import type { Loaded } from './load.ts'
import type { CollectorRef } from './messages.ts'
import { thrownText } from './thrown.ts'

export type ParsedOptions =
  | { readonly ok: true; readonly options: unknown }
  | { readonly ok: false; readonly mistakes: readonly OptionMistake[] }

/**
 * The options of the configuration through the collector's own schema. Absent options are empty ones.
 *
 * @throws Fault `collector-unusable` when the schema itself throws
 */
export async function parseOptions({ definition }: Loaded, ref: CollectorRef): Promise<ParsedOptions> {
  try {
    const parsed = await definition.options.safeParseAsync(ref.options ?? {})
    if (parsed.success) return { ok: true, options: parsed.data }
    return { ok: false, mistakes: parsed.error.issues.flatMap(issue => mistakesOf(issue, [])) }
  } catch (error) {
    throw new Fault('collector-unusable', `the options schema of ${ref.use} threw: ${thrownText(error).message}`)
  }
}

type Issue = z.core.$ZodIssue

/** One mistake for each unknown key; of a union the branch that comes nearest; else the issue as it is. */
function mistakesOf(issue: Issue, before: readonly PropertyKey[]): OptionMistake[] {
  const path = [...before, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(key => ({ path: plain([...path, key]), message: `unknown option "${key}"` }))
  }
  if (issue.code === 'invalid_union') {
    const [nearest] = [...issue.errors].sort((a, b) => a.length - b.length)
    if (nearest && nearest.length > 0) return nearest.flatMap(part => mistakesOf(part, path))
  }
  return [{ path: plain(path), message: worded(issue) }]
}

function plain(path: readonly PropertyKey[]): (string | number)[] {
  return path.map(part => (typeof part === 'symbol' ? String(part) : part))
}

function worded({ message }: Issue): string {
  const match = /^Invalid input: (expected .+), received (.+)$/.exec(message)
  if (!match) return message.replace(/^Invalid input: /, '')
  return match[2] === 'undefined' ? `is missing: ${match[1]}` : `${match[1]}, not ${match[2]}`
}
