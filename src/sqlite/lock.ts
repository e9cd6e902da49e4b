import { closeSync, openSync } from 'node:fs'
import Database from 'better-sqlite3'

/** A lock that is held. */
export interface Lock {
  release(): void
}

/**
 * An exclusive lock that lives as long as the process: SQLite's lock on a file of its own, which the system frees at
 * once however the process ends.
 *
 * @returns `undefined` when another process (or another lock of this one) has it
 */
export function openLock(file: string): Lock | undefined {
  closeSync(openSync(file, 'a', 0o600))
  const database = new Database(file, { timeout: 0 })
  try {
    database.exec('BEGIN EXCLUSIVE')
    return { release: () => void database.close() }
  } catch (error) {
    database.close()
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return undefined
    throw error
  }
}
