import { accessSync, closeSync, constants, existsSync, openSync, statSync, truncateSync } from 'node:fs'
import Database from 'better-sqlite3'
import { isDamage } from './damage.ts'

/** A lock that is held. */
export interface Lock {
  release(): void
}

/** Longer than anybody's `isLocked` takes, which is seen as a lock for that moment. */
const lookMsMax = 250

/**
 * An exclusive lock that lives as long as the process: SQLite's lock on a file of its own, which the system frees at
 * once however the process ends. What the file holds means nothing: where it is not empty it is emptied.
 *
 * @returns `undefined` when another process (or another lock of this one) has it
 * @throws what SQLite and the file system throw
 */
export function openLock(file: string): Lock | undefined {
  // One that is there is left alone: to close any descriptor of it would free a lock that this process has on it.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  // SQLite would open what cannot be written for reading alone.
  accessSync(file, constants.R_OK | constants.W_OK)
  const lock = take(file)
  if (lock === undefined || (lock !== 'garbage' && statSync(file).size === 0)) return lock
  // It is free, so nobody loses a lock by this. It is emptied and not replaced: of two that do so, one gets the lock.
  if (lock !== 'garbage') lock.release()
  truncateSync(file)
  const again = take(file)
  return again === 'garbage' ? undefined : again
}

/** `garbage` when nobody has the lock, and the file is no database. */
function take(file: string): Lock | 'garbage' | undefined {
  const database = new Database(file, { timeout: lookMsMax })
  try {
    beginExclusive(database)
    return { release: () => void database.close() }
  } catch (error) {
    database.close()
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return undefined
    if (isDamage(error)) return 'garbage'
    throw error
  }
}

/**
 * Takes the lock of a file. To begin a transaction on a file that is open for reading alone is no error: SQLite makes it
 * one of reading, whose lock others share. So a statement follows that wants to write, and changes nothing.
 *
 * @throws SqliteError `SQLITE_BUSY` when another has it, `SQLITE_READONLY` when it cannot be had
 */
export function beginExclusive(database: Database.Database): void {
  database.exec('BEGIN EXCLUSIVE; PRAGMA incremental_vacuum(1)')
}

/** Whether some process has the lock. Takes nothing and writes nothing. */
export function isLocked(file: string): boolean {
  if (!existsSync(file)) return false
  const database = new Database(file, { readonly: true, timeout: 0 })
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get()
    return false
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return true
    // Who reads garbage has come past the lock.
    if (isDamage(error)) return false
    throw error
  } finally {
    database.close()
  }
}
