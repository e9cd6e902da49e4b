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

/**
 * Banned idioms in the comments and messages of a file.
 * @returns the place, the words, and how to say it
 */
export function idiomsIn({ file, text }: Pick<Source, 'file' | 'text'>): string[] {
  const lineAt = (index: number) => text.slice(0, index).split('\n').length
  const found = (index: number, prose: string, banned: readonly Idiom[]) =>
    banned.flatMap(({ pattern, instead }) => {
      const words = pattern.exec(prose)?.[0].trim()
      return words === undefined ? [] : [`${file}:${lineAt(index)}: "${words.slice(0, 60)}": ${instead}`]
    })
  const code = text.replace(comment, part => part.replace(/[^\n]/g, ' '))
  return [
    ...[...text.matchAll(comment)].flatMap(part => found(part.index, proseOf(part[0]), [...idioms, clauseFirst])),
    ...[...code.matchAll(message)].flatMap(part => found(part.index, messageOf(part[0]), idioms)),
  ]
}

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
