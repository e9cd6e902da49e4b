import type { Sqlite } from './database.ts'

/**
 * Moves what is in the log into the file, and cuts the log off, where nobody reads or writes at this moment. SQLite alone
 * writes over a log that has grown, and never makes it smaller.
 */
export function trimLog(database: Sqlite): void {
  const waitMs = Number(database.pragma('busy_timeout', { simple: true }))
  // The event loop stands still for as long as it waits.
  database.pragma('busy_timeout = 0')
  try {
    database.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    database.pragma(`busy_timeout = ${waitMs}`)
  }
}
