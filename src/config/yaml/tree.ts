import { parseDocument } from 'yaml'
import type { PlacedMistake, Position, ValuePlace } from '../mistakes/mistakes.ts'
import { offsetOf, renameKey } from './offsets.ts'
import { tooDeep } from './syntax.ts'
import { unsupportedYaml } from './unsupported-yaml.ts'
import { brokenParts, firstOfEachLine, oddParts } from './yaml-errors.ts'

/** A parsed YAML file: its value, and the place of each part. */
export interface Tree {
  /** Plain maps, lists and scalars; `null` for an empty file. */
  value(): unknown
  /** The place of the nearest existing part of a path: a scalar's own; for maps and lists, their key's. */
  positionOf(place: ValuePlace): Position
  /**
   * Replaces a mistyped key by the one meant, so that the values below it are read, too.
   * @returns false when the map has that key already
   */
  rename(path: readonly PropertyKey[], key: string): boolean
}

/** Result of reading YAML. `yamlMistakes`: mistakes of its syntax. Without a tree the file cannot be checked further. */
export interface Read {
  readonly tree?: Tree
  readonly yamlMistakes: readonly PlacedMistake<Position>[]
}

/**
 * Reads YAML 1.2 without tags, anchors, aliases and merge keys. `0x…` is text: YAML's core schema would turn an
 * unquoted address into a number and lose its digits.
 */
export function readTree(text: string): Read {
  try {
    return parse(text)
  } catch (error) {
    // The parser recurses for each level; its own limit does not cover all of that.
    if (!(error instanceof RangeError)) throw error
    return { yamlMistakes: [{ place: { line: longestLine(text), column: 1 }, ...tooDeep }] }
  }
}

function longestLine(text: string): number {
  const lengths = text.split('\n').map(line => line.length)
  return lengths.indexOf(lengths.reduce((a, b) => Math.max(a, b), 0)) + 1
}

function parse(text: string): Read {
  const document = parseDocument(text, {
    version: '1.2',
    // Checked afterwards: the parser would compare each key with every other.
    uniqueKeys: false,
    stringKeys: true,
    prettyErrors: false,
    resolveKnownTags: false,
    customTags: tags => tags.filter(tag => typeof tag === 'string' || (tag.format !== 'HEX' && tag.format !== 'OCT')),
    logLevel: 'error',
  })
  const at = positions(text)
  const source = { text, document, at }
  const broken = brokenParts(source)
  if (broken.length > 0) return { yamlMistakes: broken }

  const odd = unsupportedYaml(document)
  const yamlMistakes = [
    ...oddParts(source),
    ...odd.map(({ place, readable: _, ...mistake }) => ({ ...mistake, place: at(place) })),
  ]
  if (odd.some(({ readable }) => !readable)) return { yamlMistakes: firstOfEachLine(yamlMistakes) }
  const tree: Tree = {
    value: () => document.toJS(),
    positionOf: ({ path, at: part }) => at(offsetOf(document, path, part)),
    rename: (path, key) => renameKey(document, path, key),
  }
  return { yamlMistakes, tree }
}

/**
 * Places by offset, at most the last visible character, as "missing" is often found at the end. The parser's own
 * counter loses lines in badly broken files.
 */
function positions(text: string): (offset: number) => Position {
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]
  const last = Math.max(0, text.trimEnd().length - 1)
  return offset => {
    const within = Math.min(Math.max(0, offset), last)
    const line = countUpTo(starts, within)
    return { line, column: within - (starts[line - 1] ?? 0) + 1 }
  }
}

/** Number of the ascending numbers that are at most `bound`. */
function countUpTo(ascending: readonly number[], bound: number): number {
  let [low, high] = [0, ascending.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ascending[middle] ?? Number.POSITIVE_INFINITY) <= bound) low = middle + 1
    else high = middle
  }
  return low
}
