import { parseAst } from 'rolldown/parseAst'
import { collectors, type Source } from '../tidy/sources.ts'

/** Options that decide a value: its scale, what is added up, what counts, and of when it is. */
const deciding = [
  ...['decimals', 'decimals0', 'decimals1', 'quoteDecimals', 'factor', 'factorDecimals', 'thousands', 'quote'],
  ...['take', 'where', 'except', 'none', 'atLeast', 'unpriced', 'missing', 'each', 'private', 'grows', 'pages'],
  ...['next', 'parameter', 'step', 'id', 'max', 'min', 'since', 'now', 'time', 'maxAge', 'window', 'hours'],
  ...['hoursBefore', 'price', 'token', 'tokens', 'unit', 'agreeWithin', 'batch', 'checksum'],
].join('|')

const instructs = /\b(write|add|give|read|remove|leave out|shorten|set)\b/
/** An option as it is written, or with a word that no other noun of a message has before it. */
const option = new RegExp(
  `(?:\\b(?:${deciding}):(?! write)|\\$\\{option\\}:|\`(?:${deciding})\`|\\b(?:larger|earlier|longer|with|as|by|the|remove) (?:${deciding})\\b(?!\\())`,
)

/** The texts of the collectors that say which option to write, as they stand in the sources, without descriptions of options. */
export const advices = () => textsOf(collectors, part => instructs.test(part) && option.test(part))

/** The texts of files that fit, as they stand there. Descriptions of options are left out. */
export function textsOf(files: readonly Source[], fits: (part: string) => boolean): ReadonlySet<string> {
  const all = new Set<string>()
  for (const { text } of files) {
    walk(parseAst(text, { lang: 'ts' }), (start, end) => {
      const part = text.slice(start + 1, end - 1).replaceAll("\\'", "'")
      if (fits(part)) all.add(part)
    })
  }
  return all
}

/** Functions that are given the description of an option. */
const describing = new Set(['describe', 'description', 'option', 'addOption', 'argument'])
const nameOf = (node: unknown, part: string): string =>
  Reflect.get(Object(Reflect.get(Object(node), part)), 'name') ?? ''

/** Calls back with the place of each text in a tree of syntax. */
function walk(node: unknown, onText: (start: number, end: number) => void): void {
  if (typeof node !== 'object' || node === null) return
  const { type, start, end, callee, value } = node as Readonly<Record<string, unknown>>
  if (type === 'CallExpression' && describing.has(nameOf(callee, 'property'))) {
    walk(callee, onText)
    return
  }
  if (type === 'Property' && nameOf(node, 'key') === 'description') return
  const isText = type === 'TemplateLiteral' || (type === 'Literal' && typeof value === 'string')
  if (isText && typeof start === 'number' && typeof end === 'number') onText(start, end)
  for (const part of Object.values(node)) walk(part, onText)
}

/** Matches what is printed for a text of the sources. */
export function printed(advice: string): RegExp {
  const parts = advice.split(/\$\{[^}]*\}/).map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(parts.join('[^]*'))
}
