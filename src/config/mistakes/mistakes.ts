import { relative } from 'node:path'

/** Sentence about a mistake in the configuration, and its fix. It repeats no secret. */
export interface Mistake {
  /** One sentence that repeats no secret. */
  readonly message: string
  /** Instruction; absent when the message says it all. */
  readonly fix?: string
}

/** A mistake and its place, as far as that is known where the mistake is found. */
export interface PlacedMistake<P = Place> extends Mistake {
  readonly place: P
}

/** A place in a text; lines and columns count from 1. */
export interface Position {
  /** Counted from 1. */
  readonly line: number
  /** Counted from 1. */
  readonly column: number
}

/** A place in a configuration file. */
export interface Place extends Position {
  /** Absolute path. */
  readonly file: string
}

/** A place in a file's value: the key at a path, or its value. */
export interface ValuePlace {
  readonly path: readonly PropertyKey[]
  readonly at: 'key' | 'value'
}

/** A mistake of a file's value. */
export interface ValueMistake extends PlacedMistake<ValuePlace> {
  /** For an unknown key: the one probably meant. */
  readonly meant?: string
}

/** Mistakes printed, at most; one misplaced bracket can cause thousands. */
const shownMax = 50

/**
 * Formats mistakes like a compiler: `file:line:col: message`, with the fix on its own line. Paths below the working
 * directory are relative.
 */
export function formatMistakes(mistakes: readonly PlacedMistake[]): string {
  const shown = mistakes.slice(0, shownMax).flatMap(mistake => {
    const line = lineOf(mistake)
    return mistake.fix === undefined ? [line] : [line, `    ${mistake.fix}`]
  })
  const more = mistakes.length - shownMax
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
}

/** The mistake as one line, without its fix. */
export const lineOf = ({ place, message }: PlacedMistake) => `${placeText(place)}: ${message}`

/** `file:line:col`, as editors and terminals take it. */
export function placeText({ file, line, column }: Place): string {
  return `${shortest(file)}:${line}:${column}`
}

/** A file's path, relative to the working directory if it is below it. */
export function shortest(file: string): string {
  const near = relative(process.cwd(), file)
  return near !== '' && !near.startsWith('..') && near.length < file.length ? near : file
}

/**
 * Mistakes in the order of the files, and in each by place; of equal ones at the same place, one.
 *
 * @param files the first files, in order; others follow in the order in which the mistakes name them
 */
export function inOrder(mistakes: readonly PlacedMistake[], files: readonly string[] = []): PlacedMistake[] {
  const seen = new Map(mistakes.map(mistake => [`${placeText(mistake.place)} ${mistake.message}`, mistake]))
  const all = [...new Set([...files, ...mistakes.map(({ place }) => place.file)])]
  const rank = new Map(all.map((file, index) => [file, index]))
  const rankOf = ({ place }: PlacedMistake) => rank.get(place.file) ?? 0
  return [...seen.values()].sort(
    (a, b) => rankOf(a) - rankOf(b) || a.place.line - b.place.line || a.place.column - b.place.column,
  )
}
