import { relative } from 'node:path'

/** A place in the configuration file; lines and columns count from 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** One mistake in a configuration: where, what, what to do. */
export interface ConfigMistake {
  readonly place: Place
  readonly message: string
  readonly fix?: string
}

/** Mistakes printed, at most; one misplaced bracket can cause thousands. */
const shownMax = 50

/**
 * Formats mistakes like a compiler: `file:line:col: message`, with the fix on its own line. Paths below the working
 * directory are relative.
 */
export function formatMistakes(mistakes: readonly ConfigMistake[]): string {
  const shown = mistakes.slice(0, shownMax).flatMap(mistake => {
    const line = lineOf(mistake)
    return mistake.fix === undefined ? [line] : [line, `    ${mistake.fix}`]
  })
  const more = mistakes.length - shownMax
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
}

/** The mistake as one line, without its fix. */
export const lineOf = ({ place, message }: ConfigMistake) => `${placeText(place)}: ${message}`

/** `file:line:col`, as editors and terminals take it. */
export function placeText({ file, line, column }: Place): string {
  return `${shortest(file)}:${line}:${column}`
}

/** A file's path, relative to the working directory if it is below it. */
export function shortest(file: string): string {
  const near = relative(process.cwd(), file)
  return near !== '' && !near.startsWith('..') && near.length < file.length ? near : file
}

/** Mistakes in the order of the file; of equal ones at the same place, one. */
export function inOrder(mistakes: readonly ConfigMistake[]): ConfigMistake[] {
  const seen = new Map(mistakes.map(mistake => [`${placeText(mistake.place)} ${mistake.message}`, mistake]))
  return [...seen.values()].sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column)
}
