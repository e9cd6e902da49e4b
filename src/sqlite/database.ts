import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { makeFolders } from '../edge/make-folders.ts'
import { version } from '../edge/version.ts'
import { walBytesMax } from '../model/limits.ts'
import { stepsFrom } from '../model/migrations.ts'

export type Sqlite = Database.Database

/** A prepared statement, by the type of its rows. */
export type SqliteStatement<R> = Database.Statement<unknown[], R>

/** Default of how long a statement waits for another process's lock. The event loop is blocked meanwhile. */
export const lockMsMax = 10_000

/** A page in the write-ahead log: SQLite's default size, and what SQLite adds. */
const walPageBytes = 4_096 + 24

/** The tables of a database file. */
export interface Schema {
  /** From 1, stored as the file's `user_version`. Each released change of the tables has a version of its own. */
  readonly version: number
  /** Statements that create the tables of an empty file. */
  readonly sql: string
  /** Changes since the first released version, oldest first, one a version. Default: none. */
  readonly migrations?: readonly SchemaMigration[]
}

/** Makes the tables of a version of those of the version before. */
export interface SchemaMigration {
  readonly to: number
  readonly sql: string
}

/** The tables of a database file are not those of this version; callers turn it into a Fault of their own. */
export class OtherSchemaError extends Error {
  /** Author of the tables: another version of tidegauge, or another program. `waiting` is an older one whose tables can be migrated. */
  readonly madeBy: 'newer' | 'older' | 'waiting' | 'other'
  /** The version of tidegauge that made the tables, as far as the file says. */
  readonly writer: string | undefined

  /** @param fileVersion the file's `user_version`; other programs rarely set one */
  constructor(file: string, fileVersion: number, schema: Schema, writer?: string) {
    const ownVersion = schema.version
    const reader = `this is tidegauge ${version}, which reads ${ownVersion}`
    super(
      fileVersion === 0
        ? `${file} is a database of another program`
        : `${file} has schema version ${fileVersion}${writer === undefined ? '' : `, made by tidegauge ${writer}`}; ${reader}`,
    )
    const older = stepsFrom(fileVersion, schema.migrations ?? []).length > 0 ? 'waiting' : 'older'
    this.madeBy = fileVersion === 0 ? 'other' : fileVersion > ownVersion ? 'newer' : older
    this.writer = writer
  }
}

/**
 * Opens a database file so that a commit survives a power cut, and creates its tables if it is new.
 *
 * WAL alone runs with `synchronous=NORMAL`, which may lose the last commits; FULL is set at each opening and asserted.
 *
 * @param file created (mode 0600) with its folder (mode 0700) if missing; `:memory:` for a temporary database
 * @throws OtherSchemaError for a file of another version or program; SqliteError for a file that is not a database
 */
export function openDatabase(file: string, schema: Schema): Sqlite {
  if (file !== ':memory:') makeFolders(dirname(file), 0o700)
  // An existing file is not touched: closing any descriptor of it would release this process's locks on it.
  if (file !== ':memory:' && !existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  const database = connectTo(file, { timeout: lockMsMax })
  try {
    const isNew = hasNoTables(database, file, schema)
    useWal(database, file)
    database.pragma('synchronous = FULL')
    database.pragma(`wal_autocheckpoint = ${Math.floor(walBytesMax / walPageBytes)}`)
    database.pragma('foreign_keys = ON')
    const synchronous = database.pragma('synchronous', { simple: true })
    if (synchronous !== 2) throw new Error(`${file}: synchronous is ${synchronous}, not FULL`)
    if (isNew) makeTables(database, file, schema)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Switches a database to WAL. Without shared memory SQLite silently keeps another journal.
 *
 * @throws Error with the code `SQLITE_NO_SHARED_MEMORY`, which `troubleOf` knows
 */
export function useWal(database: Sqlite, file: string): void {
  const mode = database.pragma('journal_mode = WAL', { simple: true })
  if (mode === 'wal' || file === ':memory:') return
  const words = `${file}: the journal is "${mode}", not a write-ahead log`
  throw Object.assign(new Error(words), { code: 'SQLITE_NO_SHARED_MEMORY' })
}

/**
 * A connection to a database file, which every connection here comes from. SQLite puts what it sorts into the folder of the
 * first file of the process: the system's folder for temporary files may be small, and is on another disk than the one that
 * is watched. SQLite reads the variable once, and tries other folders where it cannot write there.
 *
 * @param file `:memory:` for a temporary database
 * @throws SqliteError
 */
export function connectTo(file: string, options: Database.Options): Sqlite {
  if (file !== ':memory:') {
    const folder = dirname(resolve(file))
    // Of a folder that this user may not enter, the library says that it does not exist; the file system says why.
    statSync(folder)
    process.env['SQLITE_TMPDIR'] ??= folder
  }
  return new Database(file, options)
}

/** Opens a database file read-only: neither it nor its write-ahead log is changed, unless its creation was cut short. */
export function openReadOnly(file: string): Sqlite {
  if (existsSync(`${file}-journal`)) undoCreation(file)
  return connectTo(file, { readonly: true, timeout: lockMsMax })
}

/**
 * Undoes what a killed process left of a file that it was creating: pages, and a journal that says that there were none.
 * SQLite undoes it at the first read of a connection that may write, and refuses one that may not
 * (`SQLITE_READONLY_ROLLBACK`). A file that was created has a WAL, and never such a journal.
 */
function undoCreation(file: string): void {
  const database = connectTo(file, { timeout: lockMsMax })
  try {
    database.pragma('user_version')
  } finally {
    database.close()
  }
}

/**
 * Runs writes, each in a transaction whose commit does not wait for the disk. It survives the end of the process; a power
 * cut may undo such writes since the last synced commit, and nothing else.
 */
export function unsynced(database: Sqlite): <T>(act: () => T) => T {
  const transaction = database.transaction((act: () => unknown) => act())
  return <T>(act: () => T) => {
    // A prepared PRAGMA works only once.
    database.exec('PRAGMA synchronous = NORMAL')
    try {
      return transaction.immediate(act) as T
    } finally {
      database.exec('PRAGMA synchronous = FULL')
    }
  }
}

/** Whether a file is empty. @throws OtherSchemaError when its tables are not those of the schema */
function hasNoTables(database: Sqlite, file: string, schema: Schema): boolean {
  const version = schemaVersion(database)
  if (version === schema.version) return false
  const tables = database.prepare<[], number>('SELECT count(*) FROM sqlite_schema').pluck()
  if (version === 0 && tables.get() === 0) return true
  throw new OtherSchemaError(file, version, schema, writerOf(database))
}

/**
 * For a transaction that writes: another process may have brought the tables up to date since the file was opened.
 *
 * @throws OtherSchemaError when its tables are not those of the schema any more
 */
export function requireTables(database: Sqlite, file: string, schema: Schema): void {
  const found = schemaVersion(database)
  if (found !== schema.version) throw new OtherSchemaError(file, found, schema, writerOf(database))
}

/** The version of a file's tables; 0 for a file of another program, or an empty one. */
export function schemaVersion(database: Sqlite): number {
  return database.pragma('user_version', { simple: true }) as number
}

const migrationTable = `
  -- The versions of these tables that the file has had, and which tidegauge made each. No later version changes this table.
  CREATE TABLE IF NOT EXISTS migration (version INTEGER PRIMARY KEY, made_by TEXT NOT NULL, at TEXT NOT NULL) STRICT`

/** Sets the version of a file's tables, and writes down who made them. */
export function setSchemaVersion(database: Sqlite, to: number): void {
  database.exec(migrationTable)
  const note = "INSERT OR REPLACE INTO migration VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))"
  database.prepare(note).run(to, version)
  database.pragma(`user_version = ${to}`)
}

/** The version of tidegauge that made a file's tables; `undefined` when the file does not say. */
function writerOf(database: Sqlite): string | undefined {
  try {
    const newest = database.prepare<[], string>('SELECT made_by FROM migration ORDER BY version DESC LIMIT 1')
    return newest.pluck().get()
  } catch {
    return undefined
  }
}

function makeTables(database: Sqlite, file: string, schema: Schema): void {
  // IMMEDIATE: of two processes that open a new file at once, the second waits and then finds the tables made.
  database
    .transaction(() => {
      if (!hasNoTables(database, file, schema)) return
      database.exec(schema.sql)
      setSchemaVersion(database, schema.version)
    })
    .immediate()
}

/**
 * Moves the content of the write-ahead log into the file and truncates it, if no process reads or writes now. SQLite alone reuses a
 * large log and never shrinks it.
 */
export function trimWal(database: Sqlite): void {
  const waitMs = Number(database.pragma('busy_timeout', { simple: true }))
  // Waiting would block the event loop.
  database.pragma('busy_timeout = 0')
  try {
    database.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    database.pragma(`busy_timeout = ${waitMs}`)
  }
}
