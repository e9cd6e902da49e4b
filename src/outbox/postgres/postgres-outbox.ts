import { Loop } from '../../edge/loop.ts'
import { systemTime, type Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import { hourAt } from '../../model/hour.ts'
import { roomLookMs, upkeepMs } from '../../model/limits.ts'
import type { PostgresAddress } from '../../model/postgres-address.ts'
import type { DeliveryStore } from '../contract/delivery-store.ts'
import type { SharedOutbox } from '../contract/fleet-store.ts'
import type { IntakeStore } from '../contract/intake-store.ts'
import type { OperatorStore } from '../contract/operator-store.ts'
import type { Outbox, ReportStore, UpkeepDeps } from '../contract/outbox.ts'
import type { StatusStore } from '../contract/status-store.ts'
import { StoreDelivery } from '../store/delivery-store.ts'
import { StoreIntake, UnsentMetrics } from '../store/intake-store.ts'
import { StoreOperators } from '../store/operator-store.ts'
import { OldValues } from '../store/pruning.ts'
import { postgresTables, tablesVersion } from '../store/schema.ts'
import { rendered } from '../store/sql.ts'
import { StoreReports, StoreStatus } from '../store/status-store.ts'
import type { StoreDatabase, StoreRow, StoreWork, WriteOptions } from '../store/work.ts'
import { PostgresDatabase, type Transaction } from './connection/database.ts'
import { codeOfDatabase, databaseFault, databaseTrouble, OtherTablesError } from './connection/errors.ts'
import { PostgresHealth } from './connection/health.ts'
import { PostgresBackfillStore, PostgresFleetStore } from './fleet-store.ts'

/** Tables and columns that only daemons of a fleet share. */
const sharedTables = `
  -- With "salt" keys are compared: only their digests are stored.
  CREATE TABLE tidegauge.version (
    version integer NOT NULL PRIMARY KEY CHECK (version > 0),
    salt uuid NOT NULL DEFAULT gen_random_uuid()
  );

  -- Where the hours of a collector are collected.
  ALTER TABLE tidegauge.collector ADD COLUMN lane text COLLATE "C";

  -- The instant from which the next push is in time with the pace of the whole fleet.
  ALTER TABLE tidegauge.destination ADD COLUMN pace_tat timestamptz;

  -- A daemon of a fleet, by its name, and when it was last seen by the database's clock. "namesake" is another one that
  -- announces itself by this name, and "clock_off_ms" its machine's clock minus the database's.
  CREATE TABLE tidegauge.daemon (
    name text COLLATE "C" PRIMARY KEY,
    version text NOT NULL,
    config bytea,
    lanes text[] NOT NULL DEFAULT '{}',
    roles text[] NOT NULL DEFAULT '{}',
    pid integer NOT NULL,
    host text NOT NULL,
    config_file text NOT NULL,
    instance uuid NOT NULL,
    namesake text,
    clock_off_ms bigint NOT NULL,
    started timestamptz NOT NULL DEFAULT now(),
    seen timestamptz NOT NULL DEFAULT now()
  );

  -- Hours of a backfill that was asked for and is not done: jobs are made of it, also once the engine's schema was dropped.
  CREATE TABLE tidegauge.backfill_window (
    id uuid PRIMARY KEY,
    lane text COLLATE "C" NOT NULL,
    collectors text[] NOT NULL CHECK (cardinality(collectors) > 0),
    first_hour integer NOT NULL CHECK (first_hour > 0),
    last_hour integer NOT NULL,
    what text NOT NULL CHECK (what IN ('missing', 'overwrite')),
    hour_order text NOT NULL CHECK (hour_order IN ('oldest-first', 'newest-first')),
    CHECK (last_hour >= first_hour)
  );

  -- The command that delivers while no daemon is there: until an instant of the database's clock, unless it is renewed.
  CREATE TABLE tidegauge.role (
    name text PRIMARY KEY CHECK (name = 'delivery'),
    holder text NOT NULL,
    pid integer NOT NULL,
    host text NOT NULL,
    since text NOT NULL,
    config text NOT NULL,
    until timestamptz NOT NULL
  );

  INSERT INTO tidegauge.version (version) VALUES (${tablesVersion});
`

/** `server_version_num` of the oldest server that has all that the statements use. */
const serverVersionMin = 130_000

/** SQLSTATE of a schema or table that another process has just made. */
const madeByAnother: ReadonlySet<string> = new Set(['42P06', '42P07', '23505'])

/**
 * Makes the tables in a database that has none. Processes that do so at once end with the tables of one of them.
 *
 * @throws OtherTablesError when the server is too old, its encoding is not UTF8, or the tables are those of another version; errors of the database
 */
export async function makeTables(database: PostgresDatabase): Promise<void> {
  await requireServer(database)
  while (!(await hasTables(database))) {
    try {
      await made(database)
    } catch (error) {
      if (!madeByAnother.has(codeOfDatabase(error))) throw error
    }
  }
}

async function requireServer(database: PostgresDatabase): Promise<void> {
  const [row] = await database.rows<{ number: number; words: string; encoding: string }>(
    `SELECT current_setting('server_version_num')::integer AS number, current_setting('server_version') AS words,
       current_setting('server_encoding') AS encoding`,
  )
  if (row && row.number < serverVersionMin) {
    throw new OtherTablesError('unsupported', `its server has version ${row.words}`)
  }
  if (row && row.encoding !== 'UTF8') {
    throw new OtherTablesError(
      'encoded',
      `its encoding is ${row.encoding}, which does not hold all that a service or node may say`,
    )
  }
}

/** @throws OtherTablesError when they are those of another version */
async function hasTables(database: PostgresDatabase): Promise<boolean> {
  const [table] = await database.rows<{ is_there: boolean }>(
    `SELECT to_regclass('tidegauge.version') IS NOT NULL AS is_there`,
  )
  if (!table?.is_there) return false
  const [row] = await database.rows<{ version: number }>('SELECT version FROM tidegauge.version')
  const found = row?.version ?? 0
  if (found === tablesVersion) return true
  const madeBy = found > tablesVersion ? 'newer' : 'older'
  throw new OtherTablesError(
    madeBy,
    `its tables have version ${found}, another version of the daemon; this one reads ${tablesVersion}`,
  )
}

/** All in one transaction: another process sees all of it or nothing. */
async function made(database: PostgresDatabase): Promise<void> {
  await database.write(async transaction => {
    // The schema may have been made by who may make one, for a user who may not.
    const found = await transaction.query(`SELECT 1 FROM pg_namespace WHERE nspname = 'tidegauge'`)
    if (found.length === 0) await transaction.query('CREATE SCHEMA tidegauge')
    for (const statement of `${postgresTables}${sharedTables}`.split(/;\s*\n/)) {
      if (statement.trim() !== '') transaction.later(statement)
    }
  })
}

/**
 * Opens the outbox in a database, and makes its tables where there are none.
 *
 * @param time for the waits between attempts
 * @throws Fault `database-unreachable`, `database-unusable`, `database-failed` or `disk-full`
 */
export async function openPostgresOutbox(
  address: PostgresAddress,
  time: Pick<Time, 'sleep' | 'chance'> = systemTime,
): Promise<PostgresOutbox> {
  return new PostgresOutbox(await openPostgresDatabase(address, time), time)
}

/** As `openPostgresOutbox`, for what is no port of an outbox. */
export async function openPostgresDatabase(
  address: PostgresAddress,
  time: Pick<Time, 'sleep' | 'chance'> = systemTime,
  silenceMsMax?: number,
): Promise<PostgresDatabase> {
  const database = new PostgresDatabase(address, time, silenceMsMax)
  try {
    await makeTables(database)
    return database
  } catch (error) {
    await database.close()
    throw databaseFault(database.place, error)
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

/** Pause between two commits that delete old values, so that other work can run. */
const pruneRestMs = 20

/** The parts of an outbox that upkeep works on. */
interface KeptOutbox {
  readonly old: OldValues
  readonly health: PostgresHealth
}

/**
 * Maintains the outbox: reports a database that is full and its end, deletes old values, and checks that the delivery role is
 * still held.
 */
class PostgresUpkeep {
  readonly #kept: KeptOutbox
  readonly #deps: UpkeepDeps
  readonly #loop = new Loop(signal => this.#turnAndRest(signal))
  #wasFull = false
  #wasLost = false

  constructor(kept: KeptOutbox, deps: UpkeepDeps) {
    this.#kept = kept
    this.#deps = deps
    this.#loop.start()
  }

  /** Stops the loop; resolves when it has ended. */
  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async #turnAndRest(signal: AbortSignal): Promise<void> {
    const { health } = this.#kept
    try {
      this.#lookAtRole()
      await this.#lookAtRoom()
      if (!this.#wasFull) await this.#prune(signal)
    } catch (error) {
      if (health.recover(error) === 'other') this.#deps.report({ kind: 'failed', error: health.explain(error) })
    }
    await this.#rest(signal)
  }

  /** Waits for the next turn; shorter while the database is full or the role is lost. */
  async #rest(signal: AbortSignal): Promise<void> {
    const { time, role } = this.#deps
    for (let restedMs = 0; restedMs < upkeepMs && !signal.aborted; restedMs += roomLookMs) {
      await time.sleep(roomLookMs, signal).catch(() => {})
      if (this.#wasFull || this.#kept.health.fullSentence !== undefined || !role.isInPlace) return
    }
  }

  async #lookAtRoom(): Promise<void> {
    const { health } = this.#kept
    await health.keepReserve()
    const sentence = health.fullSentence
    const isFull = sentence !== undefined
    if (isFull !== this.#wasFull) {
      this.#deps.report(isFull ? { kind: 'disk-full', sentence } : { kind: 'room-again' })
    }
    this.#wasFull = isFull
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const { keepMs, time, mayPrune } = this.#deps
    if (mayPrune && !mayPrune()) return
    const before = hourAt(time.nowMs() - keepMs)
    while (!signal.aborted && (await this.#kept.old.pruneSome(before)))
      await time.sleep(pruneRestMs, signal).catch(() => {})
  }

  #lookAtRole(): void {
    const { role, report } = this.#deps
    const state = role.renew()
    if (state === 'renewed') report({ kind: 'role-renewed' })
    if (state === 'lost' && !this.#wasLost) report({ kind: 'role-lost' })
    this.#wasLost = state === 'lost'
  }
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
  readonly shared: SharedOutbox
  readonly health: PostgresHealth
  /** For who takes part in the same commits. */
  readonly database: PostgresDatabase
  /** For upkeep. */
  readonly old: OldValues
  readonly #time: Pick<Time, 'sleep'>
  readonly #closed = new AbortController()

  constructor(database: PostgresDatabase, time: Pick<Time, 'sleep'>) {
    this.database = database
    this.#time = time
    this.health = new PostgresHealth(database.place, () => this.#touch())
    const own = new PostgresStoreDatabase(database, this.health)
    const unsent = new UnsentMetrics()
    const intake = new StoreIntake({ database: own, health: this.health, unsent })
    this.intake = intake
    this.delivery = new StoreDelivery(own, unsent)
    this.operators = new StoreOperators(own)
    this.status = new StoreStatus(own)
    this.reports = new StoreReports(own)
    this.old = new OldValues(own)
    this.shared = {
      store: new PostgresFleetStore(database),
      backfills: new PostgresBackfillStore(database),
      intake,
      jobs: database.jobs,
    }
  }

  startUpkeep(deps: UpkeepDeps): { stop(): Promise<void> } {
    return new PostgresUpkeep(this, deps)
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
