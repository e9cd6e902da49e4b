import type { Document, YAMLError } from 'yaml'
import type { PlacedMistake, Position } from '../mistakes/mistakes.ts'
import { duplicateKeys, openingBefore } from './offsets.ts'
import { givenTwice, isUnclosed, leavesRestReadable, syntaxWords } from './syntax.ts'

/** A text with its parsed document, and a function from offsets to places. */
export interface Source {
  readonly text: string
  readonly document: Document.Parsed
  /** The place of an offset. */
  readonly at: (offset: number) => Position
}

/** Mistakes reported of one file: the parser can find thousands after a missing character. */
const shownMax = 50

/** Errors after which the file cannot be read. */
export function brokenParts(source: Source): PlacedMistake<Position>[] {
  const broken = source.document.errors.filter(error => !leavesRestReadable(error))
  const deep = broken.find(({ code }) => code === 'RESOURCE_EXHAUSTION')
  if (deep) return [mistakeOf(source, deep)]
  const first = firstOfEachLine(broken.map(error => ({ error, place: source.at(error.pos[0]) })))
  return firstOfEachLine(first.slice(0, shownMax).map(({ error }) => mistakeOf(source, error)))
}

/** Errors and warnings that are reported together with all other mistakes. */
export function oddParts(source: Source): PlacedMistake<Position>[] {
  const { errors, warnings } = source.document
  // That warning is about a closing bracket at the beginning of a line, which is common.
  const relevant = warnings.filter(({ code }) => code !== 'BAD_INDENT')
  return [...duplicates(source), ...[...errors, ...relevant].slice(0, shownMax).map(error => mistakeOf(source, error))]
}

function duplicates({ document, at }: Source): PlacedMistake<Position>[] {
  return duplicateKeys(document)
    .slice(0, shownMax)
    .map(({ again, first }) => {
      const message = `${givenTwice.message}; the first is on line ${at(first).line}`
      return { ...givenTwice, place: at(again), message }
    })
}

function mistakeOf({ text, document, at }: Source, error: YAMLError): PlacedMistake<Position> {
  const offset = isUnclosed(error) ? openingBefore(document, text, error.pos[0]) : error.pos[0]
  return { place: at(offset), ...syntaxWords(error) }
}

/** The first mistake of each line: one broken place often breaks the rest of its line. */
export function firstOfEachLine<T extends { readonly place: Position }>(parts: readonly T[]): T[] {
  const sorted = [...parts].sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column)
  return sorted.filter((one, index) => one.place.line !== sorted[index - 1]?.place.line)
}
