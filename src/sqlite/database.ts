import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'

export type Sqlite = Database.Database

/** How long a statement waits for another process's lock, unless it is told not to; nothing else runs meanwhile. */
export const lockMsMax = 10_000

/** One step of a schema's life. Steps are numbered by their place in the list and are never changed once released. */
export interface Migration {
  readonly name: string
  readonly sql: string
}

/** What keeps a database file from being opened; the caller turns it into its own fault. */
export class SchemaTooNewError extends Error {
  constructor(file: string, found: number, known: number) {
    super(`${file} has schema version ${found}; this version of tidegauge knows up to ${known}`)
  }
}

/**
 * Opens a database file so that a commit survives a power cut, and brings its schema up to date.
 *
 * WAL alone runs with `synchronous=NORMAL`, which may lose the last commits; FULL is set on each open and asserted.
 *
 * @param file created (mode 0600) with its folder (mode 0700) when missing; `:memory:` for a database that is not kept
 * @throws SchemaTooNewError for a file of a newer version; SqliteError for a file that is no database
 */
export function openDatabase(file: string, migrations: readonly Migration[]): Sqlite {
  if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  // One that is there is left alone: to close any descriptor of it would free the locks that this process has on it.
  if (file !== ':memory:' && !existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  const database = new Database(file, { timeout: lockMsMax })
  try {
    useWal(database, file)
    database.pragma('synchronous = FULL')
    database.pragma('foreign_keys = ON')
    const synchronous = database.pragma('synchronous', { simple: true })
    if (synchronous !== 2) throw new Error(`${file}: synchronous is ${synchronous}, not FULL`)
    migrate(database, file, migrations)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Gives a database a write-ahead log. Where there is no shared memory for it, SQLite says nothing and stays with another
 * kind of journal.
 *
 * @throws Error with the code `SQLITE_NO_SHARED_MEMORY`, which `troubleOf` knows
 */
export function useWal(database: Sqlite, file: string): void {
  const mode = database.pragma('journal_mode = WAL', { simple: true })
  if (mode === 'wal' || file === ':memory:') return
  const words = `${file}: the journal is "${mode}", not a write-ahead log`
  throw Object.assign(new Error(words), { code: 'SQLITE_NO_SHARED_MEMORY' })
}

/** Opens a database file to look at it: nothing in it is changed, and its log is left as it is. */
export function openReadOnly(file: string): Sqlite {
  return new Database(file, { readonly: true, timeout: lockMsMax })
}

/**
 * Makes writes, each in a transaction of its own, whose commit does not wait for the disk. They survive the end of the
 * process; a power cut may undo those since the last commit that waited, and nothing else.
 */
export function unsynced<T>(database: Sqlite, write: (what: T) => void): (what: T) => void {
  const transaction = database.transaction(write)
  return what => {
    // A prepared PRAGMA works only once.
    database.exec('PRAGMA synchronous = NORMAL')
    try {
      transaction.immediate(what)
    } finally {
      database.exec('PRAGMA synchronous = FULL')
    }
  }
}

function migrate(database: Sqlite, file: string, migrations: readonly Migration[]): void {
  const version = () => database.pragma('user_version', { simple: true }) as number
  if (version() > migrations.length) throw new SchemaTooNewError(file, version(), migrations.length)
  if (version() === migrations.length) return
  // IMMEDIATE: of two processes that open a new file at once, the second waits and then finds the work done.
  database
    .transaction(() => {
      migrations.slice(version()).forEach(({ sql }) => {
        database.exec(sql)
      })
      database.pragma(`user_version = ${migrations.length}`)
    })
    .immediate()
}
