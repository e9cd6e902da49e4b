import type { ClientBase, PoolClient } from 'pg'
import { Semaphore } from '../../../edge/semaphore.ts'
import type { Time } from '../../../edge/time.ts'
import { backoffMs } from '../../../model/backoff.ts'
import { type PostgresAddress, postgresPlaceOf } from '../../../model/postgres-address.ts'
import type { StatementRunner } from '../../contract/fleet-store.ts'
import { clientError, databaseTrouble, OtherTablesError } from './errors.ts'
import { ConnectionPool, statementMsMax, unpooledSettings } from './pool.ts'

/** Row of an answer, by the names of its columns. */
type Row = Readonly<Record<string, unknown>>

/**
 * A transaction under way. Statements are sent as soon as they are asked for, without waiting for the answers to earlier
 * ones, and run in that order: those that do not depend on each other's rows cost one round trip together.
 */
export interface Transaction {
  /** Runs one statement. Hours and other 64-bit numbers come back as numbers. */
  query<R extends object = Row>(text: string, values?: readonly unknown[]): Promise<R[]>
  /** Runs one statement whose rows are not needed. Its failure fails the transaction. */
  later(text: string, values?: readonly unknown[]): void
}

/** A transaction on a client. The first failure of a statement is what it fails with: later ones follow from it. */
class ClientTransaction implements Transaction {
  readonly #client: ClientBase
  readonly #underWay: Promise<unknown>[] = []
  #failure: { readonly error: unknown } | undefined

  constructor(client: ClientBase) {
    this.#client = client
  }

  async query<R extends object = Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    const { rows } = await this.#sent<R>(text, values)
    // Where the beginning failed, a statement sent right behind it ran alone.
    if (this.#failure) throw this.#failure.error
    return rows
  }

  later(text: string, values: readonly unknown[] = []): void {
    this.#underWay.push(this.#sent(text, values).catch(() => {}))
  }

  /** Runs one or more statements without values. */
  command(text: string): void {
    this.#underWay.push(this.#noticed(this.#client.query(text)).catch(() => {}))
  }

  /** Sends the end of the transaction. @throws the first failure of any of its statements */
  async end(text: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    const ending = this.#noticed(this.#client.query(text))
    await Promise.allSettled([...this.#underWay, ending])
    if (text === 'ROLLBACK') return void (await ending)
    if (this.#failure) throw this.#failure.error
    // A server answers a COMMIT of a failed transaction with a rollback, without an error.
    const { command } = await ending
    if (command !== 'COMMIT') throw new Error(`a transaction ended with ${command}`)
  }

  /** The first failure of a statement; `undefined` when there is none. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure
  }

  async #sent<R extends object>(text: string, values: readonly unknown[]) {
    if (this.#failure) throw this.#failure.error
    return this.#noticed(this.#client.query<R>(text, values.map(sendable)))
  }

  #noticed<T>(answer: Promise<T>): Promise<T> {
    return answer.catch((error: unknown) => {
      this.#failure ??= { error }
      throw this.#failure.error
    })
  }
}

/** A value without the character that PostgreSQL's texts cannot hold. */
function sendable(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value
  if (typeof value === 'bigint') return value.toString()
  return Array.isArray(value) ? value.map(sendable) : value
}

/** Connections of one process: intake, delivery, a look and upkeep work at the same time. */
const connectionsMax = 4

/** Time for an answer, after which its connection counts as lost. Any statement takes less. */
const answerMsMax = 15_000

/** Connections of the job engine, which wait for none of the others: its heartbeats have seconds. */
const jobs = { name: 'tidegauge jobs', connectionsMax: 2, answerMsMax: 5_000, isPipelined: false } as const

/** Time for which a transaction may stand still: the locks of a machine without power hold up all others. */
const idleMsMax = 10_000
const limited = `SET LOCAL idle_in_transaction_session_timeout = ${idleMsMax}; SET LOCAL statement_timeout = ${statementMsMax(answerMsMax)}; ${unpooledSettings}`

/** Attempts of a transaction by the trouble that it met, and the waits between them. */
const attemptsMax: Readonly<Record<string, number>> = { conflict: 20, broken: 4 }
const waits = { baseMs: 20, capMs: 1_000 }

/** Whether a commit waits for the disk. Without it a power cut may undo the latest. */
type Durability = 'synced' | 'unsynced'

const begins: Readonly<Record<Durability | 'reading', string>> = {
  // A commit waits also where the database's owner has chosen that none does; any other choice stays.
  synced: `BEGIN ISOLATION LEVEL READ COMMITTED; ${limited};
    SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`,
  unsynced: `BEGIN ISOLATION LEVEL READ COMMITTED; ${limited}; SET LOCAL synchronous_commit = off`,
  reading: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${limited}`,
}

/**
 * A PostgreSQL database: few connections, and transactions that are run again where that may help. It keeps nothing in a
 * session between transactions but settings that are the same in all, and prepares no statements, so a pooler in
 * transaction mode may stand between.
 */
export class PostgresDatabase {
  /** `HOST:PORT/DATABASE`, for a person. */
  readonly place: string
  readonly #pool: ConnectionPool
  readonly #jobs: ConnectionPool
  readonly #givenUp = new AbortController()
  readonly #time: Pick<Time, 'sleep' | 'chance'>
  /** Waits for a free connection have no end, other than those of the pool. */
  readonly #free = new Semaphore(connectionsMax)
  readonly #closed = new AbortController()
  #isRepeating = true
  #tablesVersion: number | undefined
  #lostConnection: unknown
  readonly #underWay = new Set<Promise<unknown>>()

  /** @param silenceMsMax time for an answer; longer for what copies whole tables */
  constructor(address: PostgresAddress, time: Pick<Time, 'sleep' | 'chance'>, silenceMsMax: number = answerMsMax) {
    this.place = postgresPlaceOf(address)
    this.#time = time
    const own = { name: 'tidegauge', connectionsMax, answerMsMax: silenceMsMax, isPipelined: true }
    const both = { pools: new Set<ConnectionPool>(), givenUp: this.#givenUp }
    this.#pool = new ConnectionPool(address, { ...own, ...both })
    this.#jobs = new ConnectionPool(address, { ...jobs, ...both })
  }

  /** From now on every transaction fails with `OtherTablesError` once the tables have another version: nothing more is written. */
  expectTables(version: number): void {
    this.#tablesVersion = version
  }

  /** Why there was no connection to it when it was asked last; `undefined` when there was one. */
  get lostConnection(): unknown {
    return this.#lostConnection
  }

  /** Whether a new transaction can only read, as on a standby. */
  async isReadOnly(): Promise<boolean> {
    const [row] = await this.rows<{ setting: string }>(`SELECT current_setting('transaction_read_only') AS setting`)
    return row?.setting === 'on'
  }

  /** Connections for the job engine. They end with this database. */
  get jobs(): StatementRunner {
    return this.#jobs
  }

  /** Runs one statement that only reads, and no fraction: a pooler may give it a session that rounds. */
  rows<R extends object = Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return this.#repeated(async client => {
      const transaction = new ClientTransaction(client)
      return transaction.query<R>(text, values)
    })
  }

  /** Reads as of one instant. @param act may run more than once */
  read<T>(act: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#repeated(client => within(client, begins.reading, act, this.#tablesVersion))
  }

  /**
   * Writes all or nothing. It may run more than once, also after a commit whose answer was lost: `act` must leave what it
   * finds done as it is.
   *
   * @param act must change nothing but rows
   */
  write<T>(act: (transaction: Transaction) => Promise<T>, durability: Durability = 'synced'): Promise<T> {
    return this.#repeated(client => within(client, begins[durability], act, this.#tablesVersion))
  }

  /** The process stops: a database that does not answer is waited for seconds, once. */
  limitWaits(): void {
    this.#pool.limitWaits()
    this.#jobs.limitWaits()
  }

  /** From now on nothing is tried again. */
  giveUp(): void {
    this.#isRepeating = false
  }

  /** Closes all connections once the transactions under way have ended. Refuses later requests. */
  async close(): Promise<void> {
    this.giveUp()
    this.limitWaits()
    this.#closed.abort(new Error('the outbox is closed'))
    await Promise.allSettled([...this.#underWay])
    await Promise.all([this.#pool.end(), this.#jobs.end()])
  }

  async #repeated<T>(act: (client: PoolClient) => Promise<T>): Promise<T> {
    const work = this.#attempts(act)
    this.#underWay.add(work)
    try {
      return await work
    } finally {
      this.#underWay.delete(work)
    }
  }

  async #attempts<T>(act: (client: PoolClient) => Promise<T>): Promise<T> {
    const { signal } = this.#closed
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted()
      try {
        return await this.#free.with(signal, () => this.#once(act))
      } catch (error) {
        const most = attemptsMax[databaseTrouble(error) ?? ''] ?? 0
        if (attempt >= most || !this.#isRepeating || this.#givenUp.signal.aborted) throw error
      }
      await this.#time.sleep(backoffMs(waits, attempt, this.#time.chance()), signal)
    }
  }

  async #connected(): Promise<PoolClient> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      this.#lostConnection = clientError(error)
      throw this.#lostConnection
    }
  }

  async #once<T>(act: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connected()
    try {
      const result = await act(client)
      client.release()
      this.#lostConnection = undefined
      return result
    } catch (error) {
      const failure = clientError(error)
      const trouble = databaseTrouble(failure)
      this.#lostConnection = trouble === 'broken' ? failure : undefined
      // After an error that is not a server's, the state of the connection is not known. A session stays as it began, read-only.
      client.release(trouble === 'broken' || trouble === 'read-only' || client.getTransactionStatus() !== 'I')
      throw failure
    }
  }
}

async function within<T>(
  client: PoolClient,
  begin: string,
  act: (it: Transaction) => Promise<T>,
  tablesVersion: number | undefined,
): Promise<T> {
  const transaction = new ClientTransaction(client)
  transaction.command(begin)
  const check = tablesVersion === undefined ? Promise.resolve() : requireTables(transaction, tablesVersion)
  check.catch(() => {})
  let result: T
  try {
    result = await act(transaction)
    await check
  } catch (error) {
    const failure = transaction.failure ? transaction.failure.error : error
    // A connection that is lost is ended, which rolls it back.
    if (databaseTrouble(clientError(failure)) !== 'broken') await transaction.end('ROLLBACK').catch(() => {})
    // Statements fail on other tables, too.
    await check.catch((other: unknown) => {
      if (other instanceof OtherTablesError) throw other
    })
    throw failure
  }
  await transaction.end('COMMIT')
  return result
}

/** Costs no round trip. A migration waits for those that have asked, and those that ask meanwhile wait for it. */
async function requireTables(transaction: Transaction, known: number): Promise<void> {
  const [row] = await transaction.query<{ version: number }>('SELECT version FROM tidegauge.version')
  if (row?.version === known) return
  throw new OtherTablesError('newer', `a newer tidegauge has brought its tables to version ${row?.version}`)
}
