import { existsSync } from 'node:fs'
import { Fault } from '../model/fault.ts'
import type { PostgresAddress } from '../model/postgres-address.ts'
import { openReadOnly, type Sqlite } from '../sqlite/database.ts'
import { withFileFaults } from '../sqlite/file-fault.ts'
import { outboxFile } from './data-folders.ts'
import type { CopiedRows, CopiedTable } from './postgres/copy.ts'
import { FolderRoles } from './roles.ts'
import { outboxSalvage } from './sqlite/outbox-salvage.ts'
import { outboxSchema } from './sqlite/tables/schema.ts'

/** The tables of an outbox; those that others refer to come first. */
const tableNames: readonly string[] = [
  ...['collector', 'provenance', 'collection', 'planned', 'backfill_failure', 'protocol', 'metric', 'description'],
  ...['outbox', 'due_count', 'tally', 'detained', 'correction', 'earlier_value', 'destination', 'unsuccessful_flush'],
  ...['warning', 'final_block', 'pin', 'report'],
]

/** The database counts metrics by state, those that are due and those that are delivered included. */
const tally = `SELECT protocol, state, sum(metrics) AS metrics FROM outbox GROUP BY protocol, state
  UNION ALL SELECT protocol, state, metrics FROM tally WHERE state = 5`

/** Input of `moveOutbox`. */
export interface OutboxMove {
  /** The data folder. */
  readonly folder: string
  /** Path of the configuration file. */
  readonly config: string
  readonly target: PostgresAddress
  /** In milliseconds since 1970. */
  readonly nowMs: number
}

/**
 * Copies the outbox of a data folder into a database: all or nothing. No daemon and no command may deliver from the folder
 * meanwhile. The folder is left as it is.
 *
 * @throws Fault `outbox-held` while another process works on the folder; `usage` when there is no outbox, or the database holds
 * rows; `outbox-corrupt`, `outbox-unusable`, and those of the database
 */
export async function moveOutbox({ folder, config, target, nowMs }: OutboxMove): Promise<readonly CopiedTable[]> {
  const file = outboxFile(folder)
  if (!existsSync(file)) throw new Fault('usage', `there is no outbox in ${folder} yet`, { fix: 'collect first' })
  const roles = new FolderRoles(folder, config)
  const [delivery, daemon] = [await roles.takeDelivery(nowMs), await roles.takeDaemon(nowMs)]
  try {
    requireSound(file)
    const database = withFileFaults('the outbox', file, () => openReadOnly(file))
    try {
      const { copyTables } = await import('./postgres/copy.ts')
      return await copyTables(target, tablesOf(database, file))
    } finally {
      database.close()
    }
  } finally {
    daemon.release()
    delivery.release()
  }
}

/** A damaged outbox must not pass for a whole one. */
function requireSound(file: string): void {
  const damage = outboxSalvage.damageOf(file)
  if (damage === undefined) return
  throw new Fault('outbox-corrupt', `the outbox is damaged, so nothing was copied: ${damage}`, {
    fix: 'start the daemon once: it saves what can be read into a new outbox',
  })
}

function tablesOf(database: Sqlite, file: string): CopiedRows[] {
  const version = database.pragma('user_version', { simple: true })
  if (version !== outboxSchema.version) {
    throw new Fault('outbox-unusable', `${file} was written by another version of tidegauge`, {
      fix: 'run the version of tidegauge that wrote it',
    })
  }
  return tableNames.map(table => {
    const select = database.prepare<[], unknown[]>(table === 'tally' ? tally : `SELECT * FROM ${table}`)
    return { table, columns: select.columns().map(({ name }) => name), rows: () => select.raw().iterate() }
  })
}
