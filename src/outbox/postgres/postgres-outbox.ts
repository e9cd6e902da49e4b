import { systemTime, type Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { ListKeeper } from '../../model/list-memory.ts'
import type { PostgresAddress } from '../../model/postgres-address.ts'
import type { DeliveryStore } from '../contract/delivery-store.ts'
import type { SharedOutbox } from '../contract/fleet-store.ts'
import type { IntakeStore } from '../contract/intake-store.ts'
import type { OperatorStore } from '../contract/operator-store.ts'
import type { Outbox, ReportStore, UpkeepDeps } from '../contract/outbox.ts'
import type { StatusStore } from '../contract/status-store.ts'
import { StoreDelivery } from '../store/delivery-store.ts'
import { StoreIntake, UnsentMetrics } from '../store/intake-store.ts'
import { StoreLists } from '../store/list-memory.ts'
import { StoreOperators } from '../store/operator-store.ts'
import { OldValues } from '../store/pruning.ts'
import { tablesVersion } from '../store/schema.ts'
import { rendered } from '../store/sql.ts'
import { StoreReports, StoreStatus } from '../store/status-store.ts'
import { Upkeep } from '../store/upkeep.ts'
import type { StoreDatabase, StoreRow, StoreWork, WriteOptions } from '../store/work.ts'
import { PostgresDatabase, type Transaction } from './connection/database.ts'
import { databaseFault, databaseTrouble, lateFault } from './connection/errors.ts'
import { PostgresHealth } from './connection/health.ts'
import { PostgresBackfillStore, PostgresFleetStore } from './fleet-store.ts'
import { PostgresLeaseStore } from './lease-store.ts'
import { type Migrator, migrateTables, prepareTables } from './tables.ts'

/**
 * Opens the outbox in a database, and makes its tables where there are none, or brings older ones up to date.
 *
 * @param migrator by default a command
 * @param time for the waits between attempts
 * @throws Fault `database-unreachable`, `database-unusable`, `database-failed`, `database-read-only` or `disk-full`
 */
export async function openPostgresOutbox(
  address: PostgresAddress,
  time: Pick<Time, 'sleep' | 'chance'> = systemTime,
  migrator: Migrator = 'command',
): Promise<PostgresOutbox> {
  const database = await openPostgresDatabase(address, time, { migrator })
  const outbox = new PostgresOutbox(database, time)
  try {
    if (await database.isReadOnly()) outbox.health.noteReadOnly()
    return outbox
  } catch (error) {
    await outbox.close()
    throw databaseFault(database.place, error)
  }
}

/** As `openPostgresOutbox`, for what is no port of an outbox. */
export async function openPostgresDatabase(
  address: PostgresAddress,
  time: Pick<Time, 'sleep' | 'chance'> = systemTime,
  { silenceMsMax, migrator = 'command' }: { readonly silenceMsMax?: number; readonly migrator?: Migrator } = {},
): Promise<PostgresDatabase> {
  const database = new PostgresDatabase(address, time, silenceMsMax)
  try {
    if ((await prepareTables(database, migrator)) === 'older') await migrateOlder(address, time)
    database.expectTables(tablesVersion)
    return database
  } catch (error) {
    await database.close()
    throw databaseFault(database.place, error)
  }
}

/** Opens a database, does something with it, and closes it. @throws Fault of the database */
export async function withPostgresDatabase<T>(
  address: PostgresAddress,
  act: (database: PostgresDatabase) => Promise<T>,
  time?: Pick<Time, 'sleep' | 'chance'>,
  silenceMsMax?: number,
): Promise<T> {
  const database = await openPostgresDatabase(address, time, silenceMsMax === undefined ? {} : { silenceMsMax })
  try {
    return await act(database)
  } catch (error) {
    throw databaseFault(database.place, error)
  } finally {
    await database.close()
  }
}

/** Time for an answer of a migration: it copies all tables. */
const migrationMsMax = 3_600_000

async function migrateOlder(address: PostgresAddress, time: Pick<Time, 'sleep' | 'chance'>): Promise<void> {
  const database = new PostgresDatabase(address, time, migrationMsMax)
  try {
    await migrateTables(database, time)
  } finally {
    await database.close()
  }
}

/** A PostgreSQL database, as the store asks it. */
class PostgresStoreDatabase implements StoreDatabase {
  readonly #database: PostgresDatabase
  readonly #health: PostgresHealth

  constructor(database: PostgresDatabase, health: PostgresHealth) {
    this.#database = database
    this.#health = health
  }

  read<T>(work: () => StoreWork<T>): Promise<T> {
    return this.#database.read(transaction => done(transaction, work()))
  }

  readEach<T>(work: () => StoreWork<T>): Promise<T> {
    return done({ query: (text, values) => this.#database.rows(text, values) }, work())
  }

  write<T>(work: () => StoreWork<T>, { durability, steps = [] }: WriteOptions = {}): Promise<T> {
    const act = async (transaction: Transaction) => {
      const result = await done(transaction, work())
      for (const step of steps) await step(transaction)
      return result
    }
    return this.#health.writing(0, () => this.#database.write(act, durability))
  }

  /** Other work runs while the database answers. */
  async rest(): Promise<void> {}

  whileWaiting<T>(rows: number, act: () => Promise<T>): Promise<T> {
    return this.#health.writing(rows, act)
  }

  concernsAll(error: unknown): boolean {
    const trouble = databaseTrouble(error)
    return error instanceof Fault || (trouble !== undefined && trouble !== 'other')
  }
}

async function done<T>(
  transaction: Pick<Transaction, 'query'> & Partial<Pick<Transaction, 'later'>>,
  work: StoreWork<T>,
): Promise<T> {
  let step = work.next([])
  while (!step.done) {
    const answers = step.value.map((statement): Promise<readonly StoreRow[]> | readonly StoreRow[] => {
      const { text, values } = rendered(statement, 'postgres')
      if (!statement.isLater || !transaction.later) return transaction.query(text, values)
      transaction.later(text, values)
      return []
    })
    step = work.next(await Promise.all(answers))
  }
  return step.value
}

/** Time for which a write is tried again once the process stops. */
const stopMs = 2_000

/** An outbox in a PostgreSQL database, which any number of processes may have open. */
export class PostgresOutbox implements Outbox {
  readonly intake: IntakeStore
  readonly delivery: DeliveryStore
  readonly operators: OperatorStore
  readonly status: StatusStore
  readonly reports: ReportStore
  readonly lists: ListKeeper
  readonly sharedOutbox: SharedOutbox
  readonly health: PostgresHealth
  /** For who takes part in the same commits. */
  readonly database: PostgresDatabase
  readonly #old: OldValues
  readonly #time: Pick<Time, 'sleep'>
  readonly #closed = new AbortController()

  constructor(database: PostgresDatabase, time: Pick<Time, 'sleep'>) {
    this.database = database
    this.#time = time
    this.health = new PostgresHealth(database.place, () => this.#touch())
    const storeDatabase = new PostgresStoreDatabase(database, this.health)
    const unsent = new UnsentMetrics()
    const intake = new StoreIntake({ database: storeDatabase, health: this.health, unsent })
    this.intake = intake
    const delivery = new StoreDelivery(storeDatabase, unsent)
    this.delivery = delivery
    this.operators = new StoreOperators(storeDatabase)
    this.status = new StoreStatus(storeDatabase)
    this.reports = new StoreReports(storeDatabase)
    this.lists = new StoreLists(storeDatabase)
    this.#old = new OldValues(storeDatabase)
    this.sharedOutbox = {
      store: new PostgresFleetStore(database),
      leases: new PostgresLeaseStore(database),
      backfills: new PostgresBackfillStore(database),
      intake,
      delivery,
      jobs: database.jobs,
      lateFault: () => lateFault(database.place, database.lostConnection),
    }
  }

  startUpkeep(deps: UpkeepDeps): { stop(): Promise<void> } {
    return new Upkeep(this, deps)
  }

  get noRoomSentence(): string | undefined {
    return this.health.fullSentence
  }

  pruneSome(before: Hour): Promise<boolean> {
    return this.#old.pruneSome(before)
  }

  limitWaits(): void {
    this.database.limitWaits()
    this.#time.sleep(stopMs, this.#closed.signal).then(
      () => this.database.giveUp(),
      () => {},
    )
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('closed'))
    await this.database.close()
  }

  #touch(): Promise<void> {
    return this.database.write(async transaction => transaction.later('UPDATE tidegauge.version SET version = version'))
  }
}
