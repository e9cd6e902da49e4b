import { randomUUID } from 'node:crypto'
import { accessSync, closeSync, constants, existsSync, openSync, rmSync, statSync, truncateSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { mayBeThere } from '../edge/file-stats.ts'
import { isDamage } from './damage.ts'
import { connectTo, type Sqlite } from './database.ts'

/** A held lock. */
export interface Lock {
  /** Gives the lock up; the file stays. */
  release(): void
}

/** Longer than any `isLocked`, which looks like a lock for that moment. */
const lookMsMax = 250

/**
 * Takes an exclusive lock that lives as long as the process: SQLite's lock on a file of its own, which the system
 * releases however the process ends. The file's content is meaningless and is emptied.
 *
 * @returns `undefined` when another process (or another lock of this one) has it
 * @throws errors of SQLite and the file system; `ENOLCK` where files cannot be locked
 */
export function openLock(file: string): Lock | undefined {
  // An existing file is not touched: closing any descriptor of it would release this process's lock on it.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  // SQLite would open an unwritable file read-only.
  accessSync(file, constants.R_OK | constants.W_OK)
  const lock = take(file)
  if (lock === undefined || (lock !== 'garbage' && statSync(file).size === 0)) return lock
  // The file is free, so no process loses a lock. It is emptied, not replaced: of two processes doing so, one gets the
  // lock.
  if (lock !== 'garbage') lock.release()
  truncateSync(file)
  const again = take(file)
  return again === 'garbage' ? undefined : again
}

/** Takes the lock; `garbage` when it is free but the file is not a database. */
function take(file: string): Lock | 'garbage' | undefined {
  const database = connectTo(file, { timeout: lookMsMax })
  try {
    beginExclusive(database)
    withLocks.add(dirname(file))
    return { release: () => void database.close() }
  } catch (error) {
    database.close()
    if ((error as { code?: string }).code === 'SQLITE_BUSY') {
      requireLocks(file)
      return undefined
    }
    if (isDamage(error)) return 'garbage'
    throw error
  }
}

/**
 * Takes the lock of a file. Beginning a transaction on a read-only file is not an error: SQLite makes it a reading one,
 * whose lock others share. So a writing statement follows that changes nothing.
 *
 * @throws SqliteError `SQLITE_BUSY` when another process has it, `SQLITE_READONLY` when it cannot be taken
 */
export function beginExclusive(database: Sqlite): void {
  database.exec('BEGIN EXCLUSIVE; PRAGMA incremental_vacuum(1)')
}

/** Folders in which a file was locked. */
const withLocks = new Set<string>()

/**
 * Whether files in a folder can be locked. SQLite reports `SQLITE_BUSY` both for a lock of another process and where the
 * file system has none (`ENOLCK`), so a new file, which no other process knows, is locked.
 */
export function hasLocks(folder: string): boolean {
  if (withLocks.has(folder)) return true
  const file = join(folder, `.probe-${randomUUID()}.db`)
  try {
    const probe = connectTo(file, { timeout: 0 })
    try {
      probe.exec('BEGIN EXCLUSIVE')
      withLocks.add(folder)
    } finally {
      probe.close()
      rmSync(file, { force: true })
    }
    return true
  } catch (error) {
    return (error as { code?: string }).code !== 'SQLITE_BUSY'
  }
}

function requireLocks(file: string): void {
  if (!hasLocks(dirname(file))) throw Object.assign(new Error('no locks are available'), { code: 'ENOLCK' })
}

/** Whether a process has the lock. @throws `ENOLCK` where files cannot be locked */
export function isLocked(file: string): boolean {
  if (!mayBeThere(file)) return false
  const database = connectTo(file, { readonly: true, timeout: 0 })
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get()
    return false
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') {
      requireLocks(file)
      return true
    }
    // Garbage is read only when there is no lock.
    if (isDamage(error)) return false
    throw error
  } finally {
    database.close()
  }
}
