import type { Sqlite } from './database.ts'

/**
 * Moves the log's content into the file and truncates it, if no process reads or writes now. SQLite alone reuses a
 * large log and never shrinks it.
 */
export function trimLog(database: Sqlite): void {
  const waitMs = Number(database.pragma('busy_timeout', { simple: true }))
  // Waiting would block the event loop.
  database.pragma('busy_timeout = 0')
  try {
    database.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    database.pragma(`busy_timeout = ${waitMs}`)
  }
}
