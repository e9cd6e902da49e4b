import { relative } from 'node:path'
import { closestMatch } from 'leven'

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
  readonly side: 'key' | 'value'
}

/** A mistake of a file's value. */
export interface ValueMistake extends PlacedMistake<ValuePlace> {
  /** For an unknown key: the one probably meant. */
  readonly meant?: string
  /** Whether a map of maps stands where a list of them belongs. */
  readonly isMapForList?: true
}

/** Mistakes printed, at most; one misplaced bracket can cause thousands. */
const shownMax = 50

/** Mistakes on one line, at most. */
const lineMax = 5

/**
 * Formats mistakes like a compiler: `file:line:col: message`, with the fix on its own line. Paths below the working
 * directory are relative.
 */
export function formatMistakes(mistakes: readonly PlacedMistake[]): string {
  const lines = mistakes.slice(0, shownMax).flatMap(mistake => {
    const line = lineOf(mistake)
    return mistake.fix === undefined ? [line] : [line, `    ${mistake.fix}`]
  })
  const more = mistakes.length - shownMax
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
}

/** Mistakes on one line, for a log or a page, each with its fix. */
export function mistakesLine(mistakes: readonly PlacedMistake[]): string {
  const texts = mistakes.slice(0, lineMax).map(mistake => {
    const line = lineOf(mistake)
    return mistake.fix === undefined ? line : `${line}: ${mistake.fix}`
  })
  const more = mistakes.length - lineMax
  return [...texts, ...(more > 0 ? [`and ${more} more: tidegauge check shows all`] : [])].join('; ')
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
 * Mistakes in the order of the files, and in each by place; of equal ones at the same place, one, also where a value with an
 * anchor stands at several paths.
 *
 * @param files the first files, in order; others follow in the order in which the mistakes name them
 */
export function inOrder(mistakes: readonly PlacedMistake[], files: readonly string[] = []): PlacedMistake[] {
  const withoutPaths = (message: string) => {
    const words = message.replace(/^[\w.[\]-]+: /, '').split(' ')
    return words.filter(word => !/\[\d+\]/.test(word)).join(' ')
  }
  const byPlace = new Map<string, PlacedMistake>()
  for (const mistake of mistakes) {
    const what = `${placeText(mistake.place)} ${withoutPaths(mistake.message)}`
    if (!byPlace.has(what)) byPlace.set(what, mistake)
  }
  const all = [...new Set([...files, ...mistakes.map(({ place }) => place.file)])]
  const rank = new Map(all.map((file, index) => [file, index]))
  const rankOf = ({ place }: PlacedMistake) => rank.get(place.file) ?? 0
  return [...byPlace.values()].sort(
    (a, b) => rankOf(a) - rankOf(b) || a.place.line - b.place.line || a.place.column - b.place.column,
  )
}

/**
 * Text of the file as it may be quoted in a mistake: printable, and left out when it looks like a URL or is long, save an
 * address on a chain, which is no secret.
 */
export function quoted(text: string): string {
  const isAddress = /^0x[\da-f]{40}$/i.test(text)
  if ((text.length > 40 && !isAddress) || text.includes('://')) return 'this text'
  return JSON.stringify(text).replace(/\p{C}/gu, sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A path as operators write it: `protocols[0].collectors[1].options`; empty for the file as a whole. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map(part => {
      if (typeof part === 'number') return `[${part}]`
      const name = String(part)
      return /^[\w-]{1,40}$/.test(name) ? `.${name}` : `[${quoted(name)}]`
    })
    .join('')
    .replace(/^\./, '')
}

/**
 * The word of `known` that was probably meant; `undefined` when none is close. Two swapped neighbours count as one
 * typo, even in words of three letters.
 */
export function meant(word: string, candidates: readonly string[]): string | undefined {
  const distanceMax = Math.min(3, Math.max(1, Math.floor(word.length / 2)))
  const lower = word.toLowerCase()
  return (
    candidates.find(candidate => candidate.toLowerCase() === lower) ??
    candidates.find(candidate => isSwapped(lower, candidate.toLowerCase())) ??
    closestMatch(word.slice(0, 100), candidates, { maxDistance: distanceMax })
  )
}

/**
 * Advice for an unknown word: the known one that was probably meant, or others.
 *
 * @param otherwise what to do when that one is not meant; absent for words that are all known
 */
export function didYouMean(word: string, known: readonly string[], others: string, otherwise?: string): string {
  const suggestion = meant(word, known)
  if (suggestion === undefined) return others
  return otherwise === undefined ? `did you mean ${suggestion}?` : `did you mean ${suggestion}? If not, ${otherwise}`
}

/** Whether two words differ only by two swapped neighbours. */
function isSwapped(word: string, candidate: string): boolean {
  if (word.length !== candidate.length) return false
  const at = Array.from(word).findIndex((letter, index) => letter !== candidate[index])
  return at >= 0 && candidate === `${word.slice(0, at)}${word[at + 1] ?? ''}${word[at]}${word.slice(at + 2)}`
}

/** Kind of a value in words: `the number 5`, `a list`, `the text "yes"`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (typeof value === 'string')
    return value.length > 40 || value.includes('://') ? 'text' : `the text ${quoted(value)}`
  if (typeof value === 'number') return `the number ${value}`
  if (typeof value === 'boolean') return String(value)
  return Array.isArray(value) ? 'a list' : 'a map'
}

/** A value on one line of YAML. */
export function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    if (Object.keys(value).length === 0) return '{}'
    const pairs = Object.entries(value).map(([key, part]) => `${key}: ${inline(part)}`)
    return `{ ${pairs.join(', ')} }`
  }
  const text = String(value)
  return typeof value === 'string' && !/^[\w./][\w./ -]*(:\/\/[\w./-]+)?(:\d+)?$/.test(text)
    ? JSON.stringify(text)
    : text
}
