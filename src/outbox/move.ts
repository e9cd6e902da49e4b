import { existsSync, renameSync, rmSync } from 'node:fs'
import { mayBeThere } from '../edge/file-stats.ts'
import { Fault } from '../model/fault.ts'
import type { PostgresAddress } from '../model/postgres-address.ts'
import { openDatabase, openReadOnly, type Sqlite } from '../sqlite/database.ts'
import { migrateFile } from '../sqlite/migrate.ts'
import { withFileFaults } from '../sqlite/trouble.ts'
import type { Identity } from './contract/fleet-store.ts'
import { outboxFile } from './data-folders.ts'
import type { CopiedRows, CopiedTable, ReadTable } from './postgres/copy.ts'
import { FolderRoles, takeDaemonRole } from './roles.ts'
import { outboxSalvage, outboxSchema } from './sqlite/outbox-salvage.ts'
import { RowsDigest } from './store/digest.ts'

/** The tables of an outbox; those that others refer to come first. */
const tableNames: readonly string[] = [
  ...[
    'collector',
    'provenance',
    'collection',
    'planned',
    'backfill_failure',
    'input',
    'protocol',
    'metric',
    'description',
  ],
  ...['outbox', 'tally', 'detained', 'correction', 'earlier_value', 'destination', 'unsuccessful_flush'],
  ...['warning', 'final_block', 'pin', 'report', 'list'],
]

/** Input of `moveOutbox`. */
interface OutboxMove {
  /** The data folder. */
  readonly folder: string
  /** Path of the configuration file. */
  readonly config: string
  readonly target: PostgresAddress
  /** The service of the configuration. */
  readonly service: Identity
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
export async function moveOutbox({
  folder,
  config,
  target,
  service,
  nowMs,
}: OutboxMove): Promise<readonly CopiedTable[]> {
  const file = outboxFile(folder)
  if (!mayBeThere(file)) throw new Fault('usage', `there is no outbox in ${folder} yet`, { fix: 'collect first' })
  const roles = new FolderRoles(folder, config)
  const [delivery, daemon] = [await roles.takeDelivery(nowMs), await roles.takeDaemon(nowMs)]
  try {
    withFileFaults('the outbox', file, () => migrateFile(file, outboxSchema))
    requireSound(file)
    const database = withFileFaults('the outbox', file, () => openReadOnly(file))
    try {
      const { copyTables } = await import('./postgres/copy.ts')
      return await copyTables(target, tablesOf(database, file), service)
    } finally {
      database.close()
    }
  } finally {
    daemon.release()
    delivery.release()
  }
}

/** Input of `moveToFolder`. */
interface FolderMove extends Omit<OutboxMove, 'target' | 'service'> {
  readonly source: PostgresAddress
}

/**
 * Copies the outbox of a database into a folder that has none: all or nothing. No daemon and no command may work on the database
 * meanwhile. The database is left as it is.
 *
 * @throws Fault `outbox-held` while another process works on either; `usage` when the folder has an outbox; `database-failed` when
 * the copy differs; those of the database
 */
export async function moveToFolder({ folder, config, source, nowMs }: FolderMove): Promise<readonly CopiedTable[]> {
  const file = outboxFile(folder)
  if (existsSync(file)) throw new Fault('usage', `there is an outbox in ${folder}`, { fix: 'name an empty folder' })
  const [{ PostgresRoles }, { readTables }] = await Promise.all([
    import('./postgres/roles.ts'),
    import('./postgres/copy.ts'),
  ])
  const roles = new PostgresRoles(source, config)
  const temporaryFile = `${file}.copy`
  // First of the database: a move that is refused there leaves nothing in the folder.
  const delivery = await roles.takeDelivery(nowMs)
  try {
    const daemonRole = takeDaemonRole(folder, config, nowMs)
    try {
      const copy = await readTables(source, () =>
        withFileFaults('the outbox', temporaryFile, () => folderCopy(temporaryFile)),
      )
      const daemon = await roles.daemon()
      if (daemon)
        throw new Fault('outbox-held', `a daemon has started meanwhile (pid ${daemon.pid})`, { fix: 'stop it first' })
      renameSync(temporaryFile, file)
      return copy
    } finally {
      removeCopy(temporaryFile)
      daemonRole.release()
    }
  } finally {
    delivery.release()
  }
}

function removeCopy(temporaryFile: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${temporaryFile}${suffix}`, { force: true })
}

/** A new file that takes the rows of all tables, and is compared with them at the end. */
function folderCopy(temporaryFile: string) {
  removeCopy(temporaryFile)
  const database = openDatabase(temporaryFile, outboxSchema)
  const digests = new Map<string, RowsDigest>()
  const tables = tableNames.map((table): ReadTable => {
    const columns = database
      .prepare<[], unknown[]>(`SELECT * FROM ${table}`)
      .columns()
      .map(({ name }) => name)
    const insert = database.prepare(`INSERT INTO ${table} VALUES (${columns.map(() => '?').join(', ')})`)
    const digest = new RowsDigest()
    digests.set(table, digest)
    const insertAll = database.transaction((rows: readonly (readonly unknown[])[]) => {
      for (const row of rows) insert.run(...row)
    })
    const take: ReadTable['take'] = rows => {
      for (const row of rows) digest.add(row)
      insertAll(rows)
    }
    return { table, columns, take }
  })
  const end = () => {
    const copied = tables.map(({ table }) => sameRows(database, table, digests.get(table)))
    database.close()
    return copied
  }
  return { tables, end }
}

/** @throws Fault `database-failed` when the rows of a table are not those that were read */
function sameRows(database: Sqlite, table: string, sourceDigest: RowsDigest | undefined): CopiedTable {
  const copyDigest = new RowsDigest()
  for (const row of database.prepare<[], unknown[]>(`SELECT * FROM ${table}`).raw().iterate()) copyDigest.add(row)
  if (sourceDigest?.text === copyDigest.text) return { table, rows: copyDigest.rows }
  const words = `the copy of ${table} differs from its rows (${sourceDigest?.text}, ${copyDigest.text})`
  throw new Fault('database-failed', words, { fix: 'nothing was changed: try again' })
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
    const select = database.prepare<[], unknown[]>(`SELECT * FROM ${table}`)
    return { table, columns: select.columns().map(({ name }) => name), rows: () => select.raw().iterate() }
  })
}
