import { Salvage } from '../../salvage/salvage.ts'
import type { Schema } from '../../sqlite/database.ts'
import { rowDigest } from '../store/digest.ts'
import { sqliteTables, tablesVersion } from '../store/schema.ts'

/** The tables of the outbox's file. */
export const outboxSchema: Schema = { version: tablesVersion, sql: sqliteTables }

/** The salvage of this version's tables. */
export const outboxSalvage = new Salvage({ schema: outboxSchema, rowDigest })
