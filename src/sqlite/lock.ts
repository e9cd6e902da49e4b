import { closeSync, existsSync, openSync } from 'node:fs'
import Database from 'better-sqlite3'

/** A lock that is held. */
export interface Lock {
  release(): void
}

/** Longer than anybody's `isLocked` takes, which is seen as a lock for that moment. */
const lookMsMax = 250

/**
 * An exclusive lock that lives as long as the process: SQLite's lock on a file of its own, which the system frees at
 * once however the process ends.
 *
 * @returns `undefined` when another process (or another lock of this one) has it
 */
export function openLock(file: string): Lock | undefined {
  // One that is there is left alone: to close any descriptor of it would free a lock that this process has on it.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  const database = new Database(file, { timeout: lookMsMax })
  try {
    database.exec('BEGIN EXCLUSIVE')
    return { release: () => void database.close() }
  } catch (error) {
    database.close()
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return undefined
    throw error
  }
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
    throw error
  } finally {
    database.close()
  }
}
