import type { z } from 'zod'
import { explain, type FileForm, jsonSchema } from './explain.ts'
import type { Place, PlacedMistake, Position, ValueMistake } from './mistakes.ts'
import { operatorFile } from './schema.ts'
import { type FileText, readTree, type Tree } from './yaml.ts'

export type PlaceOf = (path: readonly PropertyKey[], side?: 'key' | 'value') => Place

/** One file of the configuration, as far as it can be read. Paths are within this file. */
export interface ConfigDocument<T = unknown> {
  /** Absolute. */
  readonly file: string
  /** Mistakes of the text. */
  readonly yamlMistakes: readonly PlacedMistake[]
  /** Mistakes that the schema found. */
  readonly valueMistakes: readonly PlacedMistake[]
  /** The value as written, with mistyped keys replaced by the ones meant; absent for an unreadable text. */
  readonly rawValue?: unknown
  /** Absent with any mistake. */
  readonly parsed?: T
  readonly placeOf: PlaceOf
}

/** A file of the configuration without mistakes. */
export type ParsedDocument<T> = Pick<ConfigDocument<T>, 'file' | 'placeOf'> & { readonly parsed: T }

/** Parses one file; mistakes that concern several files or keys are left to `check`. */
export function readDocument<S extends z.ZodType>(
  file: string,
  fileText: FileText,
  form: FileForm<S>,
): ConfigDocument<z.output<S>> {
  const start = () => ({ file, line: 1, column: 1 })
  if (!fileText.ok) return { file, yamlMistakes: [inFile(file, fileText.mistake)], valueMistakes: [], placeOf: start }
  const { tree, yamlMistakes: unplaced } = readTree(fileText.text)
  const yamlMistakes = unplaced.map(mistake => inFile(file, mistake))
  if (!tree) return { file, yamlMistakes, valueMistakes: [], placeOf: start }
  const placeOf: PlaceOf = (path, side = 'value') => ({ file, ...tree.positionOf({ path, side }) })
  if (tree.value() === null) {
    const empty = { place: placeOf([]), message: 'the file is empty', fix: form.emptyFix }
    return { file, yamlMistakes: [...yamlMistakes, empty], valueMistakes: [], placeOf }
  }
  const { valueMistakes, parseResult } = examine(tree, form)
  const document = {
    file,
    yamlMistakes,
    valueMistakes: valueMistakes.map(mistake => inFile(file, mistake)),
    rawValue: tree.value(),
    placeOf,
  }
  return parseResult.success && valueMistakes.length === 0 ? { ...document, parsed: parseResult.data } : document
}

interface Examined<S extends z.ZodType> {
  readonly valueMistakes: readonly PlacedMistake<Position>[]
  readonly parseResult: z.ZodSafeParseResult<z.output<S>>
}

/**
 * Parses a file's value and finds all mistakes. A mistyped key is replaced by the one meant, and a map in place of a list
 * by a list of it, and the file is parsed again, so that the values below are checked, too.
 */
function examine<S extends z.ZodType>(tree: Tree, form: FileForm<S>): Examined<S> {
  // Parsed once: code compiled for it would take longer than it saves.
  const result = form.schema.safeParse(tree.value(), { jitless: true })
  const mistakes = result.success ? [] : explain(result.error.issues, tree.value(), form)
  const typos = mistakes.filter(isTypo)
  // Places first: a renamed key cannot be found by its old name.
  const typosInPlace = typos.map(typo => positioned(typo, tree))
  const renamed = typos.map(({ place, meant }) => tree.rename(place.path, meant))
  if (renamed.includes(true))
    return { parseResult: result, valueMistakes: [...typosInPlace, ...examine(tree, form).valueMistakes] }
  const maps = mistakes.filter(({ isMapForList }) => isMapForList)
  if (maps.length > 0) {
    const own = maps.map(mistake => positioned(mistake, tree))
    for (const { place } of maps) tree.wrap(place.path)
    return { parseResult: result, valueMistakes: [...own, ...examine(tree, form).valueMistakes] }
  }
  return { parseResult: result, valueMistakes: mistakes.map(mistake => positioned(mistake, tree)) }
}

const isTypo = (mistake: ValueMistake): mistake is ValueMistake & { readonly meant: string } =>
  mistake.meant !== undefined

function positioned(
  { place, meant: _, isMapForList: _map, ...mistake }: ValueMistake,
  tree: Tree,
): PlacedMistake<Position> {
  return { ...mistake, place: tree.positionOf(place) }
}

function inFile(file: string, { place, ...mistake }: PlacedMistake<Position>): PlacedMistake {
  return { place: { file, ...place }, ...mistake }
}

/** The main file. */
export const operatorForm: FileForm<typeof operatorFile> = {
  schema: operatorFile,
  json: () => jsonSchema(operatorFile),
  emptyFix: 'service and protocols are required; tidegauge init writes a beginning',
  wholeFix: 'write it as key: value lines; service and protocols are required',
}
