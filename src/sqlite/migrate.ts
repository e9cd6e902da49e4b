import { closeSync, existsSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { stepsFrom } from '../model/migrations.ts'
import {
  connectTo,
  lockMsMax,
  type Schema,
  type SchemaMigration,
  type Sqlite,
  schemaVersion,
  setSchemaVersion,
} from './database.ts'
import { syncPath } from './sync-path.ts'

/** Bytes of two files that are compared at a time. */
const comparedBytes = 1_048_576

/** A file whose tables were brought up to date. */
export interface Migrated {
  readonly from: number
  readonly to: number
  /** Path of a copy of the file as it was before. */
  readonly backup: string
}

/** Whether a file's tables are of an older version that can be brought up to date. A file that cannot be read counts as none: opening it says why. */
export function isMigratable(file: string, schema: Schema): boolean {
  if (!existsSync(file) || (schema.migrations ?? []).length === 0) return false
  try {
    const database = connectTo(file, { readonly: true, timeout: lockMsMax })
    try {
      return stepsFrom(schemaVersion(database), schema.migrations ?? []).length > 0
    } finally {
      database.close()
    }
  } catch {
    return false
  }
}

/**
 * Brings the tables of a file up to date, in one transaction, after it was copied to `FILE.before-VERSION`, or to
 * `FILE.before-VERSION-2` where a person has gone back and the first copy is still there. Whatever ends it early, a full disk or a kill, leaves the file as it was. No process of an older version may have the file open.
 *
 * @returns `undefined` when there was nothing to do
 */
export function migrateFile(file: string, schema: Schema): Migrated | undefined {
  if (!isMigratable(file, schema)) return undefined
  const database = connectTo(file, { timeout: lockMsMax })
  try {
    database.pragma('synchronous = FULL')
    // A table that others refer to may have to be replaced; all references are checked at the end.
    database.pragma('foreign_keys = OFF')
    for (;;) {
      const from = schemaVersion(database)
      const steps = stepsFrom(from, schema.migrations ?? [])
      if (steps.length === 0) return undefined
      const state = dataVersion(database)
      const backup = backUp(database, `${file}.before-${schema.version}`)
      const isDone = database.transaction(() => {
        // Written to since it was copied: what is kept must be what was there.
        if (dataVersion(database) !== state) return false
        migrate(database, steps)
        return true
      })
      if (isDone.immediate()) return { from, to: schema.version, backup }
    }
  } finally {
    database.close()
  }
}

function migrate(database: Sqlite, steps: readonly SchemaMigration[]): void {
  for (const { to, sql } of steps) {
    database.exec(sql)
    setSchemaVersion(database, to)
  }
  const [broken] = database.pragma('foreign_key_check') as readonly { readonly table: string }[]
  if (broken) throw new Error(`a migration breaks a reference of ${broken.table}`)
}

/** Changes when another connection has committed. */
function dataVersion(database: Sqlite): unknown {
  return database.pragma('data_version', { simple: true })
}

/**
 * Copies a database into a file (mode 0600) that is whole and on disk when it appears under its name. A file of that name
 * stays: if it holds the same, as after a migration that was cut short, it is the copy; else the copy's name ends with "-2".
 *
 * @returns path of the copy
 */
function backUp(database: Sqlite, file: string): string {
  const temporaryFile = `${file}.part`
  const parts = [temporaryFile, `${temporaryFile}-journal`]
  for (const part of parts) rmSync(part, { force: true })
  try {
    closeSync(openSync(temporaryFile, 'wx', 0o600))
    database.prepare('VACUUM INTO ?').run(temporaryFile)
    if (existsSync(file) && isSameContent(file, temporaryFile)) return file
    syncPath(temporaryFile)
    const copy = existsSync(file) ? `${file}-2` : file
    renameSync(temporaryFile, copy)
    syncPath(dirname(file))
    return copy
  } finally {
    for (const part of parts) rmSync(part, { force: true })
  }
}

/** Whether two files hold the same bytes: SQLite copies the same rows to the same bytes. */
function isSameContent(one: string, other: string): boolean {
  if (statSync(one).size !== statSync(other).size) return false
  const [first, second] = [openSync(one, 'r'), openSync(other, 'r')]
  try {
    const [a, b] = [Buffer.alloc(comparedBytes), Buffer.alloc(comparedBytes)]
    for (;;) {
      const bytes = readSync(first, a)
      readSync(second, b)
      if (!a.equals(b)) return false
      if (bytes < comparedBytes) return true
    }
  } finally {
    closeSync(first)
    closeSync(second)
  }
}
