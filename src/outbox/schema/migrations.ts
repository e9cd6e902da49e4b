import type { Migration } from '../../sqlite/database.ts'
import { version1 } from './version-1.ts'
import { version2 } from './version-2.ts'
import { version3 } from './version-3.ts'

/**
 * The outbox's schema, step by step. Instants are milliseconds since 1970; hours are hours since 1970, which SQLite keeps
 * in three bytes. The hour comes first in the keys: rows are written and read by the hour, so they lie side by side on disk.
 */
export const migrations: readonly Migration[] = [version1, version2, version3]
