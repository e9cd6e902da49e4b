import type { Document, YAMLError } from 'yaml'
import { duplicateKeys, openingBefore } from './offsets.ts'
import { givenTwice, isUnclosed, leavesRestReadable, syntaxWords } from './syntax.ts'

/** A place in the text; lines and columns count from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** A mistake of the YAML. */
export interface Misread {
  readonly position: Position
  readonly message: string
  readonly fix: string
}

/** A text with its parsed document, and a function from offsets to places. */
export interface Source {
  readonly text: string
  readonly document: Document.Parsed
  readonly at: (offset: number) => Position
}

/** Mistakes reported of one file: the parser can find thousands after a missing character. */
const toldMax = 50

/** Errors after which the file cannot be read. */
export function brokenParts(source: Source): Misread[] {
  const broken = source.document.errors.filter(error => !leavesRestReadable(error))
  const deep = broken.find(({ code }) => code === 'RESOURCE_EXHAUSTION')
  if (deep) return [misreadOf(source, deep)]
  const first = firstOfEachLine(broken.map(error => ({ error, position: source.at(error.pos[0]) })))
  return firstOfEachLine(first.slice(0, toldMax).map(({ error }) => misreadOf(source, error)))
}

/** Errors and warnings that are reported together with all other mistakes. */
export function oddParts(source: Source): Misread[] {
  const { errors, warnings } = source.document
  // That warning is about a closing bracket at the beginning of a line, which is common.
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

/** The first mistake of each line: one broken place often breaks the rest of its line. */
export function firstOfEachLine<T extends { readonly position: Position }>(parts: readonly T[]): T[] {
  const sorted = [...parts].sort((a, b) => a.position.line - b.position.line || a.position.column - b.position.column)
  return sorted.filter((one, index) => one.position.line !== sorted[index - 1]?.position.line)
}
