import type { Document, YAMLError } from 'yaml'
import { duplicateKeys, openingBefore } from './offsets.ts'
import { givenTwice, isUnclosed, leavesRestReadable, syntaxWords } from './syntax.ts'

/** A place in the text, counted from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** Something that is wrong with the YAML. */
export interface Misread {
  readonly position: Position
  readonly message: string
  readonly fix: string
}

/** A text, what the parser made of it, and where an offset in it stands. */
export interface Source {
  readonly text: string
  readonly document: Document.Parsed
  readonly at: (offset: number) => Position
}

/** How many are told of one file: the parser can find thousands behind one that is missing. */
const toldMax = 50

/** Errors that leave nothing to read on. */
export function brokenParts(source: Source): Misread[] {
  const broken = source.document.errors.filter(error => !leavesRestReadable(error))
  const deep = broken.find(({ code }) => code === 'RESOURCE_EXHAUSTION')
  if (deep) return [misreadOf(source, deep)]
  const first = firstOfEachLine(broken.map(error => ({ error, position: source.at(error.pos[0]) })))
  return firstOfEachLine(first.slice(0, toldMax).map(({ error }) => misreadOf(source, error)))
}

/** Errors and warnings that are told along with all other mistakes. */
export function oddParts(source: Source): Misread[] {
  const { errors, warnings } = source.document
  // A warning about indentation is about a closing bracket at the line's beginning, which everyone writes.
  const told = warnings.filter(({ code }) => code !== 'BAD_INDENT')
  return [...duplicates(source), ...[...errors, ...told].slice(0, toldMax).map(error => misreadOf(source, error))]
}

function duplicates({ document, at }: Source): Misread[] {
  return duplicateKeys(document)
    .slice(0, toldMax)
    .map(({ again, first }) => {
      const { message, fix } = givenTwice
      return { position: at(again), message: `${message}; the first is on line ${at(first).line}`, fix }
    })
}

function misreadOf({ text, document, at }: Source, error: YAMLError): Misread {
  const offset = isUnclosed(error) ? openingBefore(document, text, error.pos[0]) : error.pos[0]
  return { position: at(offset), ...syntaxWords(error) }
}

/** One broken place often breaks what follows it on the line; only the first is the operator's. */
export function firstOfEachLine<T extends { readonly position: Position }>(parts: readonly T[]): T[] {
  const sorted = [...parts].sort((a, b) => a.position.line - b.position.line || a.position.column - b.position.column)
  return sorted.filter((one, index) => one.position.line !== sorted[index - 1]?.position.line)
}
