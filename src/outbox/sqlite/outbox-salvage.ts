import { Salvage } from '../../salvage/salvage.ts'
import type { Schema } from '../../sqlite/database.ts'
import { rowDigest } from '../store/digest.ts'
import { migrations, sqliteTables, tablesVersion } from '../store/schema.ts'

/** The tables of the outbox's file. */
export const outboxSchema: Schema = {
  version: tablesVersion,
  sql: sqliteTables,
  migrations: migrations.map(({ to, sqlite }) => ({ to, sql: sqlite })),
}

/** The salvage of this version's tables. */
export const outboxSalvage = new Salvage({ schema: outboxSchema, rowDigest })
