import { systemTime } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import type { PostgresAddress } from '../../model/postgres-address.ts'
import type { Identity } from '../contract/fleet-store.ts'
import { RowsDigest } from '../store/digest.ts'
import type { PostgresDatabase, Transaction } from './connection/database.ts'
import { withPostgresDatabase } from './postgres-outbox.ts'

/** The rows of a table, to be copied. */
export interface CopiedRows {
  readonly table: string
  readonly columns: readonly string[]
  /** All rows, their values in the order of the columns; may be read more than once. */
  rows(): Iterable<readonly unknown[]>
}

/** A table that was copied, and compared with its rows. */
export interface CopiedTable {
  readonly table: string
  /** Number of its rows. */
  readonly rows: number
}

/** Time for an answer: a whole table is read back in one statement, and copied from a file that is read meanwhile. */
const copyMsMax = 600_000

/** Rows of one statement. */
const rowsTogether = 2_000

/** Tables whose numbers are given by a sequence. */
const numbered: readonly string[] = ['collector', 'provenance', 'protocol', 'metric']

/**
 * Copies tables into a database that holds no rows of them: all or nothing. Their rows are counted, read back and compared before
 * the commit.
 *
 * @param service that the values were delivered to: it counts for the fleet
 * @throws Fault `usage` when the database holds rows, `database-failed` when the copy differs; the Faults of opening
 */
export async function copyTables(
  address: PostgresAddress,
  tables: readonly CopiedRows[],
  service: Identity,
): Promise<readonly CopiedTable[]> {
  const copy = (database: PostgresDatabase) =>
    database.write(async transaction => {
      // It was delivered there: a daemon with another service must not go on.
      transaction.later(
        `INSERT INTO tidegauge.identity (name, digest, by_daemon) VALUES ($1, decode($2, 'hex'), 'move')
         ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, since = now(), by_daemon = excluded.by_daemon`,
        [service.name, service.digest.toString('hex')],
      )
      return copied(transaction, tables)
    })
  return withPostgresDatabase(address, copy, systemTime, copyMsMax)
}

/** A table that is read, and what takes its rows. */
export interface ReadTable extends Pick<CopiedRows, 'table' | 'columns'> {
  /** Called with some rows after the others, their values in the order of the columns. */
  take(rows: readonly (readonly unknown[])[]): void
}

/**
 * Reads tables as of one instant. It may begin again, after `begin` was called again.
 *
 * @throws the Faults of opening
 */
export async function readTables<T>(
  address: PostgresAddress,
  begin: () => { readonly tables: readonly ReadTable[]; end(): T },
): Promise<T> {
  const copy = (database: PostgresDatabase) =>
    database.read(async transaction => {
      const { tables, end } = begin()
      for (const table of tables) await readTable(transaction, table)
      return end()
    })
  return withPostgresDatabase(address, copy, systemTime, copyMsMax)
}

async function readTable(transaction: Transaction, { table, columns, take }: ReadTable): Promise<void> {
  transaction.later(`DECLARE copied CURSOR FOR SELECT ${columns.join(', ')} FROM tidegauge.${table}`)
  for (;;) {
    const some = await transaction.query(`FETCH ${rowsTogether} FROM copied`)
    take(some.map(row => columns.map(column => row[column])))
    if (some.length < rowsTogether) break
  }
  transaction.later('CLOSE copied')
}

async function copied(transaction: Transaction, tables: readonly CopiedRows[]): Promise<CopiedTable[]> {
  // It stands still while the rows of a large table are read, and holds up no daemon.
  transaction.later('SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0')
  const full = await fullTables(transaction, tables)
  if (full.length > 0) {
    throw new Fault('usage', `the database holds rows already: ${full.join(', ')}`, {
      fix: 'name an empty database; to begin again, drop its schema tidegauge',
    })
  }
  for (const table of tables) await insertRows(transaction, table)
  for (const table of numbered) {
    transaction.later(
      `SELECT setval(pg_get_serial_sequence('tidegauge.${table}', 'id'), (SELECT max(id) FROM tidegauge.${table}))`,
    )
  }
  const done: CopiedTable[] = []
  for (const table of tables) done.push(await compared(transaction, table))
  return done
}

async function fullTables(transaction: Transaction, tables: readonly CopiedRows[]): Promise<string[]> {
  // No process writes to a database that is being filled.
  transaction.later(
    `LOCK TABLE ${tables.map(({ table }) => `tidegauge.${table}`).join(', ')} IN SHARE ROW EXCLUSIVE MODE`,
  )
  const filledTables: string[] = []
  for (const { table } of tables) {
    const rows = await transaction.query(`SELECT 1 FROM tidegauge.${table} LIMIT 1`)
    if (rows.length > 0) filledTables.push(table)
  }
  return filledTables
}

async function insertRows(transaction: Transaction, { table, columns, rows }: CopiedRows): Promise<void> {
  const types = await columnTypes(transaction, table)
  const arrays = columns.map((column, place) => `$${place + 1}::${types.get(column) ?? 'text'}[]`)
  const text = `INSERT INTO tidegauge.${table} (${columns.join(', ')}) SELECT * FROM unnest(${arrays.join(', ')})`
  for (const chunk of chunks(rows())) {
    await transaction.query(
      text,
      columns.map((_, place) => chunk.map(row => row[place] ?? null)),
    )
  }
}

async function columnTypes(transaction: Transaction, table: string): Promise<ReadonlyMap<string, string>> {
  const rows = await transaction.query<{ name: string; type: string }>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
    [`tidegauge.${table}`],
  )
  return new Map(rows.map(({ name, type }) => [name, type]))
}

/** @throws Fault `database-failed` when a row is missing or other than it was read */
async function compared(transaction: Transaction, { table, columns, rows }: CopiedRows): Promise<CopiedTable> {
  const [sourceDigest, copyDigest] = [new RowsDigest(), new RowsDigest()]
  for (const row of rows()) sourceDigest.add(row)
  const take: ReadTable['take'] = some => {
    for (const row of some) copyDigest.add(row)
  }
  await readTable(transaction, { table, columns, take })
  if (sourceDigest.text === copyDigest.text) return { table, rows: sourceDigest.rows }
  const words = `the copy of ${table} differs from its rows (${sourceDigest.text}, ${copyDigest.text})`
  throw new Fault('database-failed', words, { fix: 'nothing was changed: try again' })
}

function* chunks<T>(all: Iterable<T>): Iterable<T[]> {
  let chunk: T[] = []
  for (const one of all) {
    chunk.push(one)
    if (chunk.length < rowsTogether) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}
