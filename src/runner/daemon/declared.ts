import { dirname, resolve } from 'node:path'
import type { OptionMistake } from '../../config/config.ts'
import type { CollectorRef } from '../messages.ts'
import { isHidden, isOfSystem } from './readable.ts'

/** Declared paths that a process may read, and mistakes in others. */
export interface Declared {
  /** Absolute paths that the process may read. */
  readonly given: readonly string[]
  readonly mistakes: readonly OptionMistake[]
}

/**
 * Checks the paths a collector claims its options declare against the configuration: its code could claim any. Only
 * paths that a person has written there, and that are not hidden, are accepted.
 */
export async function declaredPaths(
  { options, configFile }: Pick<CollectorRef, 'options' | 'configFile'>,
  said: readonly string[],
  hidden: readonly string[],
): Promise<Declared> {
  const written = new Map(textsIn(options, []).map(({ text, path }) => [resolve(dirname(configFile), text), path]))
  const meant = said.filter(path => written.has(path))
  const refusals = await Promise.all(meant.map(async path => ({ path, message: await refusal(path, hidden) })))
  return {
    given: refusals.flatMap(({ path, message }) => (message === undefined ? [path] : [])),
    mistakes: refusals.flatMap(({ path, message }) =>
      message === undefined ? [] : [{ path: written.get(path) ?? [], message }],
    ),
  }
}

async function refusal(path: string, hidden: readonly string[]): Promise<string | undefined> {
  if (await isHidden(path, hidden))
    return 'leads to a path that no collector may read: the configuration, a file of a secret, or the data'
  return isOfSystem(path)
    ? 'leads into /proc, /sys or /dev, where every process and device can be read; single files such as /proc/meminfo may be named'
    : undefined
}

interface WrittenText {
  readonly text: string
  readonly path: OptionMistake['path']
}

function textsIn(value: unknown, path: OptionMistake['path']): WrittenText[] {
  if (typeof value === 'string') return [{ text: value, path }]
  if (Array.isArray(value)) return value.flatMap((part, index) => textsIn(part, [...path, index]))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, part]) => textsIn(part, [...path, name]))
}
