import type { Source } from './sources.ts'

/** An idiom that words.md bans, and the plain way to say it. */
interface Idiom {
  readonly pattern: RegExp
  readonly instead: string
}

/** Idioms of comments and messages. Each makes a reader parse a sentence twice. */
const idioms: readonly Idiom[] = [
  { pattern: /\btold\b/i, instead: 'say who reports, logs or returns it' },
  { pattern: /\bbeside\b/i, instead: 'write "next to", "besides" or "apart from"' },
  { pattern: /(?<!\bthere )\bis none\b/i, instead: 'write "is not a …"; only "there is none" is plain' },
  { pattern: /\bnobody\b/i, instead: 'name the process, caller or person that does not act' },
  { pattern: /\bwhoever\b/i, instead: 'name the caller, process or person' },
  { pattern: /\banew\b/i, instead: 'write "again", or name what is created' },
  { pattern: /\b(?:came|comes|come) to(?= (?:be\b|its\b|an end)|[.;:,]|$)/i, instead: 'name the result' },
  { pattern: /\bby (?:itself|themselves)\b/i, instead: 'write "automatically" or "alone"' },
]

/** Sentences of a comment that begin with a clause in place of their subject. */
const clauseFirst: Idiom = {
  pattern: /(?:^|[.;] )(?:What|How|Whoever|Whichever) [^?]*?(?:\. |$)/,
  instead: 'begin with the noun or the verb: "Dependencies of `X`.", "Time for which …", "Number of …"',
}

const comment = /\/\*[\s\S]*?\*\/|(?<![:'"`\w])\/\/ .*$/gm
const message = /'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g
/** Names of code, which are not prose. */
const names = /`[^`]*`|@param \w+|\$\{[^}]*\}/g

type File = Pick<Source, 'file' | 'text'>

/**
 * Banned idioms in the comments, messages and names of a file of code.
 * @returns the place, the words, and how to say it
 */
export function idiomsIn(source: File): string[] {
  const { text } = source
  const code = text.replace(comment, blank)
  const names = code.replace(message, blank)
  return [
    ...[...text.matchAll(comment)].flatMap(part =>
      found(source, part.index, proseOf(part[0]), [...idioms, clauseFirst]),
    ),
    ...[...code.matchAll(message)].flatMap(part => found(source, part.index, messageOf(part[0]), idioms)),
    ...[...names.matchAll(/\w+/g)].flatMap(part => found(source, part.index, wordsOfName(part[0]), idioms)),
  ]
}

/** Banned idioms in the documentation and the examples of configurations: line by line, without inline code. */
export function idiomsInProse(source: File): string[] {
  const prose = source.text.replace(/`[^`\n]*`/g, blank)
  return [...prose.matchAll(/.+/g)].flatMap(line => found(source, line.index, line[0], idioms))
}

function found({ file, text }: File, index: number, prose: string, banned: readonly Idiom[]): string[] {
  const line = text.slice(0, index).split('\n').length
  return banned.flatMap(({ pattern, instead }) => {
    const words = pattern.exec(prose)?.[0].trim()
    return words === undefined ? [] : [`${file}:${line}: "${words.slice(0, 60)}": ${instead}`]
  })
}

/** `lockedReportMs` as `locked Told Ms`. */
const wordsOfName = (name: string) => name.replace(/(?<=[a-z\d])(?=[A-Z])|_/g, ' ')

const blank = (part: string) => part.replace(/[^\n]/g, ' ')

/** A comment as one line, without its marks and without names of code. */
function proseOf(part: string): string {
  return part
    .replace(/^\/\*+|\*\/$|^ *\* ?|^\/\/ /gm, '')
    .replace(names, 'x')
    .replace(/\s+/g, ' ')
    .trim()
}

/** A text without values; empty for one of fewer than three words, which is a name. */
function messageOf(part: string): string {
  const prose = part.slice(1, -1).replace(/\$\{[^}]*\}/g, 'x')
  return /[a-z]+ [a-z]+ [a-z]+/i.test(prose) ? prose : ''
}
