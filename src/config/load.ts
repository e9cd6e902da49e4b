import { resolve } from 'node:path'
import { buildConfig } from './build.ts'
import { check } from './checks.ts'
import type { Config } from './config.ts'
import { ConfigError } from './config-error.ts'
import { draftsIn } from './drafts.ts'
import type { Place, PlacedMistake, Position, ValueMistake } from './mistakes/mistakes.ts'
import { inOrder, placeText } from './mistakes/mistakes.ts'
import { explain } from './schema/explain.ts'
import { operatorFile } from './schema/schema.ts'
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
  if (!read.ok) throw new ConfigError(absolute, [inFile(absolute, read.mistake)])
  return parseConfig(absolute, read.text)
}

/** As `loadConfig`, from the file's text. */
export function parseConfig(file: string, text: string): Config {
  const { tree, misread } = readTree(text)
  const mistakes = misread.map(mistake => inFile(file, mistake))
  if (!tree) throw new ConfigError(file, mistakes)
  const placeOf = (path: readonly PropertyKey[], at: 'key' | 'value' = 'value'): Place => {
    return { file, ...tree.positionOf({ path, at }) }
  }
  if (tree.value() === null) throw new ConfigError(file, [...mistakes, emptyFile(placeOf([]))])

  // A mistake of the YAML is not reported again as one of the value.
  const knownPlaces = new Set(mistakes.map(({ place }) => placeText(place)))
  const { found, parsed } = examine(tree)
  const others = found.map(mistake => inFile(file, mistake)).filter(({ place }) => !knownPlaces.has(placeText(place)))
  const all = inOrder([...mistakes, ...others])
  if (parsed.success && all.length === 0) return buildConfig(file, parsed.data, placeOf)
  throw new ConfigError(file, all, draftsIn(tree.value(), placeOf))
}

interface Examined {
  readonly found: readonly PlacedMistake<Position>[]
  readonly parsed: ReturnType<typeof operatorFile.safeParse>
}

/**
 * Parses a file's value and finds all mistakes. A mistyped key is replaced by the one meant and the file is parsed again,
 * so that the values below it are checked, too.
 */
function examine(tree: Tree): Examined {
  const parsed = operatorFile.safeParse(tree.value())
  const found = parsed.success ? [] : explain(parsed.error.issues, tree.value())
  const typos = found.filter(isTypo)
  // Places first: a renamed key cannot be found by its old name.
  const placed = typos.map(typo => positioned(typo, tree))
  const renamed = typos.map(({ place, meant }) => tree.rename(place.path, meant))
  if (renamed.includes(true)) return { parsed, found: [...placed, ...examine(tree).found] }
  const lineOf = (path: readonly PropertyKey[]) => tree.positionOf({ path, at: 'value' }).line
  return { parsed, found: [...found, ...check(tree.value(), lineOf)].map(mistake => positioned(mistake, tree)) }
}

const isTypo = (mistake: ValueMistake): mistake is ValueMistake & { readonly meant: string } =>
  mistake.meant !== undefined

function positioned({ place, meant: _, ...mistake }: ValueMistake, tree: Tree): PlacedMistake<Position> {
  return { ...mistake, place: tree.positionOf(place) }
}

function inFile(file: string, { place, ...mistake }: PlacedMistake<Position>): PlacedMistake {
  return { place: { file, ...place }, ...mistake }
}

const emptyFile = (place: Place): PlacedMistake => ({
  place,
  message: 'the file is empty',
  fix: 'service and protocols are required; config/local.yaml is a beginning',
})
