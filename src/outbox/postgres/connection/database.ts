import pg, { type PoolClient } from 'pg'
import { settledSessions } from '../../../edge/postgres-session.ts'
import { Semaphore } from '../../../edge/semaphore.ts'
import type { Time } from '../../../edge/time.ts'
import { backoffMs } from '../../../model/backoff.ts'
import { type PostgresAddress, postgresPlaceOf, tlsOptionsOf } from '../../../model/postgres-address.ts'
import { clientError, databaseTrouble } from './errors.ts'
import { ClientTransaction, type Row, type Transaction } from './transaction.ts'

/** Connections of one process: intake, delivery, a look and upkeep work at the same time. */
const connectionsMax = 4

/** Time for a connection, after which it counts as impossible. */
const connectMsMax = 5_000

/** Time for a statement, after which its connection counts as lost. */
const statementMsMax = 60_000

/** Time for which a transaction may stand still: the locks of a machine without power hold up all others. */
const idleMsMax = 10_000
const endsIdle = `SET LOCAL idle_in_transaction_session_timeout = ${idleMsMax}`

/** Attempts of a transaction by the trouble that it met, and the waits between them. */
const attemptsMax: Readonly<Record<string, number>> = { conflict: 20, broken: 4 }
const waits = { baseMs: 20, capMs: 1_000 }

/** Whether a commit waits for the disk. Without it a power cut may undo the latest. */
export type Durability = 'synced' | 'unsynced'

const begins: Readonly<Record<Durability | 'reading', string>> = {
  // A weaker choice of the database's owner is not weakened further, and a stronger one stays.
  synced: `BEGIN ISOLATION LEVEL READ COMMITTED; ${endsIdle};
    SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`,
  unsynced: `BEGIN ISOLATION LEVEL READ COMMITTED; ${endsIdle}; SET LOCAL synchronous_commit = off`,
  reading: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
}

/** Numbers of PostgreSQL's type `bigint` come as numbers: all are far below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/**
 * A PostgreSQL database: few connections, and transactions that are run again where that may help. It keeps nothing in a
 * session between transactions but settings that are the same in all, and prepares no statements, so a pooler in
 * transaction mode may stand between.
 */
export class PostgresDatabase {
  /** `HOST:PORT/DATABASE`, for a person. */
  readonly place: string
  readonly #pool: pg.Pool
  readonly #time: Pick<Time, 'sleep' | 'chance'>
  /** Waits for a free connection have no end, other than those of the pool. */
  readonly #free = new Semaphore(connectionsMax)
  readonly #closed = new AbortController()
  #isRepeating = true
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(address: PostgresAddress, time: Pick<Time, 'sleep' | 'chance'>) {
    const { host, port, user, password, database } = address
    this.place = postgresPlaceOf(address)
    this.#time = time
    this.#pool = new pg.Pool({
      ...{ host, port, user, password, database, types },
      ...settledSessions,
      ssl: tlsOptionsOf(address),
      application_name: 'tidegauge',
      max: connectionsMax,
      connectionTimeoutMillis: connectMsMax,
      query_timeout: statementMsMax,
      keepAlive: true,
      pipeline: true,
    })
    // An idle connection that ends is replaced; a busy one fails its statements.
    this.#pool.on('error', () => {})
    this.#pool.on('connect', client => void client.on('error', () => {}))
  }

  /** Runs one statement that only reads. */
  rows<R extends object = Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return this.#repeated(async client => {
      const transaction = new ClientTransaction(client)
      return transaction.query<R>(text, values)
    })
  }

  /** Reads as of one instant. @param act may run more than once */
  read<T>(act: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#repeated(client => within(client, begins.reading, act))
  }

  /**
   * Writes all or nothing. It may run more than once, also after a commit whose answer was lost: `act` must leave what it
   * finds done as it is.
   *
   * @param act must change nothing but rows
   */
  write<T>(act: (transaction: Transaction) => Promise<T>, durability: Durability = 'synced'): Promise<T> {
    return this.#repeated(client => within(client, begins[durability], act))
  }

  /** From now on nothing is tried again. */
  giveUp(): void {
    this.#isRepeating = false
  }

  /** Closes all connections once the transactions under way have ended. Refuses later requests. */
  async close(): Promise<void> {
    this.giveUp()
    this.#closed.abort(new Error('the outbox is closed'))
    await Promise.allSettled([...this.#underWay])
    if (!this.#pool.ended) await this.#pool.end()
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
        if (attempt >= most || !this.#isRepeating) throw error
      }
      await this.#time.sleep(backoffMs(waits, attempt, this.#time.chance()), signal)
    }
  }

  async #connected(): Promise<PoolClient> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      throw clientError(error)
    }
  }

  async #once<T>(act: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connected()
    try {
      const result = await act(client)
      client.release()
      return result
    } catch (error) {
      const known = clientError(error)
      // After an error that is not a server's, the state of the connection is not known.
      client.release(databaseTrouble(known) === 'broken' || client.getTransactionStatus() !== 'I')
      throw known
    }
  }
}

async function within<T>(client: PoolClient, begin: string, act: (it: Transaction) => Promise<T>): Promise<T> {
  const transaction = new ClientTransaction(client)
  transaction.command(begin)
  let result: T
  try {
    result = await act(transaction)
  } catch (error) {
    await transaction.end('ROLLBACK').catch(() => {})
    throw transaction.failure ? transaction.failure.error : error
  }
  await transaction.end('COMMIT')
  return result
}
