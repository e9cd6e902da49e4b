/** A value that a statement binds. */
export type SqlValue = string | number | bigint | Uint8Array | null

/** Types of the columns of `rows` and of the values of a list, as PostgreSQL names them. */
type SqlType = 'integer' | 'bigint' | 'double precision' | 'text'

/** Fragment of a statement that is not the same in all databases. */
type SqlFragment =
  | { readonly kind: 'list'; readonly type: SqlType; readonly values: readonly SqlValue[] }
  | {
      readonly kind: 'rows'
      readonly columns: Readonly<Record<string, SqlType>>
      readonly rows: readonly (readonly SqlValue[])[]
    }
  | { readonly kind: 'words'; readonly postgres: string; readonly sqlite: string }
  | Statement

/** A statement: its text, with values and fragments between. `sql` makes it. */
export interface Statement {
  readonly kind: 'statement'
  readonly texts: readonly string[]
  readonly between: readonly (SqlValue | SqlFragment)[]
  /** Whether the rows of its answer are not needed: nothing waits for them. Default: they are. */
  readonly isLater?: boolean
}

/** A statement as a database takes it. */
interface RenderedStatement {
  readonly text: string
  readonly values: readonly unknown[]
}

export type Dialect = 'postgres' | 'sqlite'

/**
 * A statement. Tables are written with the schema `tidegauge`, which SQLite does without.
 *
 * @example sql`SELECT id FROM tidegauge.metric WHERE name ${isIn('text', names)} AND protocol = ${protocol}`
 */
export function sql(texts: TemplateStringsArray, ...between: readonly (SqlValue | SqlFragment)[]): Statement {
  return { kind: 'statement', texts, between }
}

/** The condition that what stands before it is one of some values. */
export function isIn(type: SqlType, values: readonly SqlValue[]): SqlFragment {
  return { kind: 'list', type, values }
}

/**
 * A table of given rows for `FROM`, with the number of each row, from 1 on, as `place`. An alias must follow.
 *
 * @example sql`SELECT given.name FROM ${rows({ name: 'text' }, [['a'], ['b']])} AS given ORDER BY given.place`
 */
export function rows(columns: Readonly<Record<string, SqlType>>, all: readonly (readonly SqlValue[])[]): SqlFragment {
  return { kind: 'rows', columns, rows: all }
}

/** Text that is a fragment of a statement; it must not come from outside. */
export function text(words: string): SqlFragment {
  return { kind: 'words', postgres: words, sqlite: words }
}

/** Keeps the rows of a `SELECT` from being changed until the transaction ends. In SQLite there is one writer at a time. */
export const forUpdate: SqlFragment = { kind: 'words', postgres: 'FOR NO KEY UPDATE', sqlite: '' }

/** Writes a statement in the dialect of a database. */
export function rendered(statement: Statement, dialect: Dialect): RenderedStatement {
  const values: unknown[] = []
  const bind = (value: unknown) => {
    values.push(value)
    return dialect === 'postgres' ? `$${values.length}` : '?'
  }
  const write = ({ texts, between }: Statement): string =>
    texts.reduce((before, after, index) => before + writeFragment(between[index - 1] ?? null) + after)
  const writeFragment = (fragment: SqlValue | SqlFragment): string => {
    if (fragment === null || typeof fragment !== 'object' || fragment instanceof Uint8Array)
      return bind(clean(fragment))
    if (fragment.kind === 'statement') return write(fragment)
    if (fragment.kind === 'words') return fragment[dialect]
    if (fragment.kind === 'list') {
      const list = fragment.values.map(clean)
      if (dialect === 'postgres') return `= ANY (${bind(list)}::${fragment.type}[])`
      return `IN (SELECT value FROM json_each(${bind(JSON.stringify(list))}))`
    }
    return dialect === 'postgres'
      ? postgresRows(fragment.columns, fragment.rows, bind)
      : sqliteRows(fragment.columns, fragment.rows, bind)
  }
  const written = write(statement)
  return { text: dialect === 'postgres' ? written : written.replaceAll('tidegauge.', ''), values }
}

type Bind = (value: unknown) => string

function postgresRows(columns: Readonly<Record<string, SqlType>>, all: readonly (readonly SqlValue[])[], bind: Bind) {
  const arrays = Object.entries(columns).map(
    ([, type], place) => `${bind(all.map(row => clean(row[place] ?? null)))}::${type}[]`,
  )
  const names = Object.keys(columns).join(', ')
  return `(SELECT * FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS given (${names}, place))`
}

function sqliteRows(columns: Readonly<Record<string, SqlType>>, all: readonly (readonly SqlValue[])[], bind: Bind) {
  const names = Object.keys(columns).map((name, place) => `value ->> ${place} AS ${name}`)
  const json = JSON.stringify(all.map(row => row.map(clean)))
  return `(SELECT ${names.join(', ')}, key + 1 AS place FROM json_each(${bind(json)}))`
}

/** Characters that a text is searched for before it is copied. */
const unclean = /[\0\ud800-\udfff]/

/** Text that every database holds: none holds half of a character pair, and PostgreSQL no NUL. */
function clean(value: SqlValue): SqlValue {
  if (typeof value !== 'string' || !unclean.test(value)) return value
  return value.replaceAll('\0', '\uFFFD').toWellFormed()
}
