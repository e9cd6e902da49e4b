import { existsSync } from 'node:fs'
import type { Hour } from 'tidegauge'
import { notOneRow, type RowColumn } from './row.ts'
import { namedValues } from './statement.ts'

/** Time that a query waits for a lock of another process. */
const lockedMsMax = 2_000

/**
 * The one row that a query of a SQLite file returns. The file is opened for reading only, and nothing but reading is
 * allowed to the query.
 *
 * @throws Error when it cannot be opened or read, or does not return one row
 */
export async function sqliteRow(path: string, query: string, hour: Hour): Promise<readonly RowColumn[]> {
  if (!existsSync(path)) throw new Error(`there is no file ${path}: check the path`)
  // Built into Node, whose permissions allow no native packages here; other processes do not have it.
  const { DatabaseSync, constants } = await import('node:sqlite')
  const actions = [
    constants.SQLITE_SELECT,
    constants.SQLITE_READ,
    constants.SQLITE_FUNCTION,
    constants.SQLITE_RECURSIVE,
  ]
  // Opened within the try, so that a file that cannot be opened is explained, too.
  const database = new DatabaseSync(path, { readOnly: true, timeout: lockedMsMax, open: false })
  try {
    database.open()
    database.exec('PRAGMA query_only = 1')
    database.setAuthorizer(action => (actions.includes(action) ? constants.SQLITE_OK : constants.SQLITE_DENY))
    const statement = database.prepare(query)
    statement.setReadBigInts(true)
    statement.setAllowUnknownNamedParameters(true)
    // As lists: of two columns of one name an object has only one.
    statement.setReturnArrays(true)
    const names = statement.columns().map(({ name }) => name)
    return oneRow(statement.iterate({ ...namedValues(hour) }), names)
  } catch (error) {
    throw explained(error, path)
  } finally {
    if (database.isOpen) database.close()
  }
}

function oneRow(rows: Iterable<unknown>, names: readonly string[]): readonly RowColumn[] {
  const [first, second] = [...taken(rows, 2)]
  if (first === undefined) throw notOneRow(0)
  if (second !== undefined) throw notOneRow(2)
  const values: readonly unknown[] = Array.isArray(first) ? first : []
  return names.map((name, index) => ({ name, value: cellOf(values[index]) }))
}

function* taken<T>(rows: Iterable<T>, count: number): Generator<T> {
  let columnsLeft = count
  for (const row of rows) {
    yield row
    columnsLeft -= 1
    if (columnsLeft === 0) return
  }
}

function cellOf(value: unknown): RowColumn['value'] {
  const isPlain = typeof value === 'bigint' || typeof value === 'number' || typeof value === 'string'
  return isPlain || value === null ? value : 'a blob'
}

const notOpened = (path: string) =>
  `${path} cannot be opened: may this process read it, and in WAL mode write to its folder?`

/** Sentences for SQLite's result codes, extended or not, whose own words do not say what is wrong. */
const sentences: Readonly<Record<number, (path: string) => string>> = {
  5: path => `${path} is locked by another process for more than ${lockedMsMax / 1000} s`,
  8: path => `${path} was left in the middle of a write: the program that writes it must open it first`,
  14: notOpened,
  23: () => 'the query writes, or does something else than reading',
  26: path => `${path} is not a SQLite database`,
  // Read-only, because its index in shared memory cannot be made or its folder not be written.
  1288: notOpened,
  1544: notOpened,
}

function explained(error: unknown, path: string): unknown {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'errcode') : undefined
  if (!(error instanceof Error) || typeof code !== 'number') return error
  // The lowest byte of an extended code is the code.
  const sentence = sentences[code] ?? sentences[code & 0xff]
  return new Error(sentence?.(path) ?? `SQLite refuses the query: ${error.message}`)
}
