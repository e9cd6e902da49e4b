import { type Hour, hourText } from 'tidegauge'

/** Forms of the hour that a statement may ask for, by their names in it. */
const forms = {
  /** In PostgreSQL of the type timestamptz; in SQLite text like 2026-11-20T13:00:00Z. */
  hour: (hour: Hour) => hourText(hour),
  hourSeconds: (hour: Hour) => BigInt(hour / 1000),
  hourMs: (hour: Hour) => BigInt(hour),
} as const

type Form = keyof typeof forms

const types: Readonly<Record<Form, string>> = { hour: 'timestamptz', hourSeconds: 'bigint', hourMs: 'bigint' }

const isForm = (name: string): name is Form => Object.hasOwn(forms, name)

/**
 * Parts of a statement. Alternatives in order: strings, quoted names, PostgreSQL's dollar quotes, comments, words (which
 * may have a dollar within) and parameters. Anything else is a part of one character.
 */
const part =
  /(?<quoted>\be'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\$(?<tag>[a-z_]\w*)?\$[\s\S]*?\$\k<tag>\$)|(?<comment>--[^\n]*|\/\*[\s\S]*?\*\/)|(?<word>[\p{L}_][\p{L}\p{N}_$]*)|\$(?<name>\w+)|(?<other>[\s\S])/giu

interface StatementPart {
  readonly kind: 'quoted' | 'comment' | 'word' | 'name' | 'other'
  readonly text: string
  /** Of a parameter, without its dollar. */
  readonly name: string
}

function partsOf(statement: string): readonly StatementPart[] {
  return [...statement.matchAll(part)].map(({ 0: text, groups = {} }) => {
    const kind = (['quoted', 'comment', 'word', 'name'] as const).find(each => groups[each] !== undefined)
    return { kind: kind ?? 'other', text, name: groups['name'] ?? '' }
  })
}

/** Whether a statement asks for the hour, in any of its forms. */
export function asksHour(statement: string): boolean {
  return partsOf(statement).some(({ name }) => isForm(name))
}

/** The first mistake in a statement that can be seen without a database; `undefined` when there is none. */
export function statementMistake(statement: string): string | undefined {
  const parts = partsOf(statement).filter(({ kind }) => kind !== 'comment')
  const nonEmpty = parts.filter(({ text }) => text.trim() !== '')
  const first = nonEmpty.find(({ text }) => text !== '(')
  if (!/^(select|with|values)$/i.test(first?.text ?? ''))
    return 'must be a query that reads: SELECT …, or WITH … SELECT …'
  const end = nonEmpty.findIndex(({ text }) => text === ';')
  if (end >= 0 && nonEmpty.slice(end).some(({ text }) => text !== ';'))
    return 'must be one statement: there is more after its ;'
  const unknown = parts.find(({ kind, name }) => kind === 'name' && !isForm(name))
  return unknown && noParameter(unknown.text)
}

/**
 * A parameter in another of SQLite's forms, as a mistake: without a value it would be NULL. `undefined` when there is
 * none.
 */
export function sqliteMistake(statement: string): string | undefined {
  const parts = partsOf(statement).filter(({ kind }) => kind !== 'comment')
  const code = parts.map(({ kind, text }) => (kind === 'quoted' ? "''" : text)).join('')
  const stray = /\?\d*|[:@#]\w+/.exec(code)?.[0]
  return stray && noParameter(stray)
}

function noParameter(written: string): string {
  return `knows no ${written}: the hour is written $hour, $hourSeconds or $hourMs`
}

/** A statement with numbered parameters, as PostgreSQL takes them. */
export interface NumberedStatement {
  readonly text: string
  /** In the order of their numbers. */
  readonly values: readonly string[]
}

/** The statement for PostgreSQL: `$hour` becomes `($1::timestamptz)`, and its value travels apart from the text. */
export function numbered(statement: string, hour: Hour): NumberedStatement {
  const names = [...new Set(partsOf(statement).flatMap(({ name }) => (isForm(name) ? [name] : [])))]
  const text = partsOf(statement)
    .map(({ text, name }) => (isForm(name) ? `($${names.indexOf(name) + 1}::${types[name]})` : text))
    .join('')
  return { text, values: names.map(name => String(forms[name](hour))) }
}

/** The values of all forms of the hour by name, for SQLite. */
export function namedValues(hour: Hour): Readonly<Record<Form, string | bigint>> {
  return { hour: forms.hour(hour), hourSeconds: forms.hourSeconds(hour), hourMs: forms.hourMs(hour) }
}
