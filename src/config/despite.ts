import { resolve } from 'node:path'
import { isMap, isPair, isSeq, type Node, parseDocument } from 'yaml'
import { type Config, ConfigError } from './config.ts'
import { parseFiles } from './load.ts'
import type { PlacedMistake } from './mistakes.ts'
import { type FileText, readText } from './yaml.ts'

/** A configuration as far as it can be read. */
export interface ReadDespite {
  /** All mistakes of the files as they are written; empty when there are none. */
  readonly mistakes: readonly PlacedMistake[]
  /** The configuration without the mistaken entries; absent where it would be another one. */
  readonly config?: Config
}

/** Parts that are taken out, at most: one mistake may take a few. */
const partsMax = 60

/** Sections without an entry of which the rest would mean something else: another outbox, another daemon, another service. */
const decisive: ReadonlySet<string> = new Set(['service', 'data', 'fleet', 'status', 'proxy', 'ca'])

/**
 * Reads a configuration without the entries that have mistakes, for a look at all else. Each place in it is as in the file:
 * what is taken out becomes blanks.
 */
export function loadDespite(file: string): ReadDespite {
  const texts = new Map<string, FileText>()
  const textOf = (name: string) => texts.get(name) ?? readText(name)
  let mistakes: readonly PlacedMistake[] | undefined
  for (let parts = 0; parts < partsMax; parts += 1) {
    try {
      const config = parseFiles(resolve(file), textOf)
      return { mistakes: mistakes ?? [], config }
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      mistakes ??= error.mistakes
      const [mistake] = error.mistakes
      const read = mistake && textOf(mistake.place.file)
      const left = mistake && read?.ok ? withoutPart(read.text, mistake) : undefined
      if (!mistake || left === undefined) return { mistakes }
      texts.set(mistake.place.file, { ok: true, text: left })
    }
  }
  return { mistakes: mistakes ?? [] }
}

/**
 * The text with blanks in place of the entry at a mistake, of the dash before it and a comma after it; `undefined` where that
 * decides too much, or is no entry.
 */
function withoutPart(text: string, { place: { line, column } }: PlacedMistake): string | undefined {
  const before = text.split('\n').slice(0, line - 1)
  const offset = before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1
  const { contents, errors } = parseDocument(text)
  if (errors.length > 0 || !isMap(contents)) return undefined
  const section = contents.items.find(pair => covers(rangeOf(pair), offset))
  // An unknown section may be a misspelt one of these.
  if (!section || decisive.has(String(section.key)) || covers(rangeOf(section.key), offset)) return undefined
  const entry = innermost(section.value, offset) ?? section
  const [from, to] = rangeOf(entry)
  const dash = isPair(entry) ? 0 : (/-[ \t]+$/.exec(text.slice(0, from))?.[0].length ?? 0)
  const comma = /^\s*,/.exec(text.slice(to))?.[0].length ?? 0
  const [start, end] = [from - dash, to + comma]
  return text.slice(0, start) + text.slice(start, end).replace(/[^\n]/g, ' ') + text.slice(end)
}

type Range = readonly [from: number, to: number]

/** The smallest entry of a map or a list that holds an offset. */
function innermost(node: unknown, offset: number): unknown {
  const entries = isMap(node) || isSeq(node) ? node.items : []
  for (const entry of entries) {
    if (covers(rangeOf(entry), offset)) return innermost(isPair(entry) ? entry.value : entry, offset) ?? entry
  }
  return undefined
}

function rangeOf(entry: unknown): Range {
  const [first, last] = isPair(entry) ? [entry.key, entry.value ?? entry.key] : [entry, entry]
  const [from = 0] = (first as Node | null)?.range ?? []
  const [, to = from] = (last as Node | null)?.range ?? []
  return [from, to]
}

function covers([from, to]: Range, offset: number): boolean {
  return from <= offset && offset < Math.max(to, from + 1)
}
