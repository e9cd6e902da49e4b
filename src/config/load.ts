import { resolve } from 'node:path'
import { buildConfig } from './build.ts'
import { check } from './checks.ts'
import type { Config } from './config.ts'
import { ConfigError } from './config-error.ts'
import { draftsIn } from './drafts.ts'
import type { Finding } from './mistakes/finding.ts'
import type { ConfigMistake, Place } from './mistakes/mistakes.ts'
import { inOrder, placeText } from './mistakes/mistakes.ts'
import { explain } from './schema/explain.ts'
import { operatorFile } from './schema/schema.ts'
import type { Position } from './yaml/misread.ts'
import { readText } from './yaml/text.ts'
import { readTree, type Tree } from './yaml/tree.ts'

/**
 * Reads a configuration file, once and strictly. Secrets are not read.
 *
 * @param file relative to the working directory, or absolute
 * @throws ConfigError with all mistakes at once, and no other error
 */
export function loadConfig(file: string): Config {
  const absolute = resolve(file)
  const read = readText(absolute)
  if (!read.ok) {
    const { message, fix, before } = read
    throw new ConfigError(absolute, [{ place: { file: absolute, ...endOf(before ?? '') }, message, fix }])
  }
  return parseConfig(absolute, read.text)
}

/** As `loadConfig`, from the file's text. */
export function parseConfig(file: string, text: string): Config {
  const { tree, misread } = readTree(text)
  const mistakes = misread.map(({ position, ...told }): ConfigMistake => ({ place: { file, ...position }, ...told }))
  if (!tree) throw new ConfigError(file, mistakes)
  const placeOf = (path: readonly PropertyKey[], at: 'key' | 'value' = 'value'): Place => {
    return { file, ...tree.positionOf(path, at) }
  }
  if (tree.value() === null) throw new ConfigError(file, [...mistakes, emptyFile(placeOf([]))])

  const parsed = operatorFile.safeParse(tree.value())
  // A mistake of the YAML is not reported again as one of the value.
  const told = new Set(mistakes.map(({ place }) => placeText(place)))
  const all = inOrder([...mistakes, ...findMistakes(tree, file).filter(({ place }) => !told.has(placeText(place)))])
  if (parsed.success && all.length === 0) return buildConfig(file, parsed.data, placeOf)
  throw new ConfigError(file, all, draftsIn(tree.value(), placeOf))
}

/**
 * Finds all mistakes. A mistyped key is replaced by the one meant and the file is checked again, so that the values
 * below it are checked, too.
 */
function findMistakes(tree: Tree, file: string): ConfigMistake[] {
  const parsed = operatorFile.safeParse(tree.value())
  const found = parsed.success ? [] : explain(parsed.error.issues, tree.value())
  const typos = found.filter(isTypo)
  // Places first: a renamed key cannot be found by its old name.
  const told = placed(typos, tree, file)
  const renamed = typos.map(({ path, meant }) => tree.rename(path, meant))
  if (renamed.includes(true)) return [...told, ...findMistakes(tree, file)]
  const lineOf = (path: readonly PropertyKey[]) => tree.positionOf(path, 'value').line
  return placed([...found, ...check(tree.value(), lineOf)], tree, file)
}

const isTypo = (finding: Finding): finding is Finding & { readonly meant: string } => finding.meant !== undefined

function placed(found: readonly Finding[], tree: Tree, file: string): ConfigMistake[] {
  return found.map(({ path, at, message, fix }) => ({
    place: { file, ...tree.positionOf(path, at) },
    message,
    ...(fix !== undefined && { fix }),
  }))
}

const emptyFile = (place: Place): ConfigMistake => ({
  place,
  message: 'the file is empty',
  fix: 'service and protocols are required; config/local.yaml is a beginning',
})

function endOf(before: string): Position {
  const lines = before.split('\n')
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 }
}
