import type { Socket } from 'node:net'
import pg, { type PoolClient } from 'pg'
import { unlessAborted } from '../../../edge/unless-aborted.ts'
import { isLoopback } from '../../../model/host.ts'
import { type PostgresAddress, tlsOptionsOf } from '../../../model/postgres-address.ts'
import { LostConnectionError, RefusedConnectionError } from './errors.ts'

/** Time for a connection, after which it counts as impossible. */
const connectMsMax = 5_000

/** Silence of a connection after which its machine is asked whether it is still there. */
const keepAliveMs = 10_000

/** Time for an answer once another connection was silent: a gateway that forgets one forgets all. */
const suspectMsMax = 5_000

/** Time for an answer once the process stops: a database that does not answer then is not waited for any more. */
const stopMsMax = 1_500

/** Formats of values and of statements, whatever the defaults of the database, its user or server. */
const pooledSettings = {
  client_encoding: 'UTF8',
  DateStyle: 'ISO, MDY',
  TimeZone: 'UTC',
  standard_conforming_strings: 'on',
}

/** The same, but a pooler in transaction mode does not carry them from one of its connections to another. */
const ownSettings = {
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  array_nulls: 'on',
}

/** Statements that set them. @param set `SET` for a session, `SET LOCAL` for a transaction */
function settingStatements(set: string, settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${set} ${name} = '${value}'`)
    .join('; ')
}

/** Statements for the begin of a transaction: its session may be one of a pooler, with settings of its own. */
export const unpooledSettings = settingStatements('SET LOCAL', ownSettings)

const sessionSettings = settingStatements('SET', { ...pooledSettings, ...ownSettings })

/** Interval at which a server asks, while a statement runs, whether its client is still there; servers before 14 never do. */
const checkClientMs = 2_000
const checkClient = `SELECT set_config(name, '${checkClientMs}', false) FROM pg_settings WHERE name = 'client_connection_check_interval'`

/**
 * Time after which the server itself ends a statement, as one that waits for a lock or a standby: before the client takes the
 * connection for lost, and makes another one while the server still works on the first.
 */
export function statementMsMax(answerMsMax: number): number {
  return Math.floor(0.8 * answerMsMax)
}

/** Numbers of PostgreSQL's type `bigint` come as numbers: all are far below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** Settings of a `ConnectionPool`. */
export interface ConnectionPoolOptions {
  /** `application_name`, as the database shows it. */
  readonly name: string
  readonly connectionsMax: number
  /** Time without a byte from the database after which a connection counts as lost, in milliseconds. */
  readonly answerMsMax: number
  /** Whether statements are sent without waiting for the answers to earlier ones. */
  readonly isPipelined: boolean
  /** Pools of the same database, of which this will be one. */
  readonly pools: Set<ConnectionPool>
  /** Aborted when the database does not answer while the process stops: then no pool of it is waited for. */
  readonly givenUp: AbortController
}

/**
 * Connections to a database: the one place that makes any. A connection that a gateway has forgotten takes bytes and answers
 * none: it is ended after `answerMsMax`, also while it is unused, so that nothing waits for it for longer.
 */
export class ConnectionPool {
  readonly #pool: pg.Pool
  readonly #streams = new Map<pg.ClientBase, Socket>()
  readonly #idle = new Set<pg.ClientBase>()
  #answerMsMax: number
  #isStopping = false
  readonly #all: Set<ConnectionPool>
  readonly #givenUp: AbortController

  constructor(address: PostgresAddress, options: ConnectionPoolOptions) {
    const { name, connectionsMax, answerMsMax, isPipelined, pools, givenUp } = options
    const { host, port, user, password, database } = address
    this.#answerMsMax = answerMsMax
    this.#all = pools.add(this)
    this.#givenUp = givenUp
    givenUp.signal.addEventListener('abort', () => {
      for (const stream of this.#streams.values()) stream.destroy()
    })
    const watch = (client: pg.ClientBase) => this.#watch(client)
    class WatchedClient extends pg.Client {
      constructor(config?: pg.ClientConfig) {
        super(config)
        watch(this)
        if (address.tls === 'none' && !isLoopback(host)) refuseClearPassword(this)
      }
    }
    this.#pool = new pg.Pool({
      ...{ host, port, user, password, database, types },
      ssl: tlsOptionsOf(address),
      application_name: name,
      max: connectionsMax,
      connectionTimeoutMillis: connectMsMax,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      pipeline: isPipelined,
      onConnect: async client => {
        await client.query(`${sessionSettings}; SET statement_timeout = ${statementMsMax(options.answerMsMax)}`)
        // A system that cannot ask refuses the setting.
        await client.query(checkClient).catch(() => {})
      },
      Client: WatchedClient,
    })
      // An idle connection that ends is replaced; a busy one fails its statements.
      .on('error', () => {})
      .on('connect', client => {
        client.on('error', () => {})
        watch(client)
      })
      .on('acquire', client => {
        this.#idle.delete(client)
        this.#streams.get(client)?.setTimeout(this.#answerMsMax)
      })
      .on('release', (_, client) => this.#idle.add(client))
  }

  /** A free connection. The caller releases it. */
  async connect(): Promise<PoolClient> {
    const connecting = this.#pool.connect()
    return unlessAborted(connecting, this.#givenUp.signal).catch((error: unknown) => {
      connecting.then(
        client => client.release(true),
        () => {},
      )
      throw error
    })
  }

  /** Runs statements on a free connection. @param values of the only statement */
  async executeSql(text: string, values?: readonly unknown[]): Promise<pg.QueryResult> {
    const client = await this.connect()
    let isDone = false
    try {
      const result = await client.query(text, values && [...values])
      isDone = true
      return result
    } finally {
      // After a failure the state of the connection is not known.
      client.release(!isDone)
    }
  }

  /** The process stops: from now on an answer has `stopMsMax`, and the first that does not come is the last waited for. */
  limitWaits(): void {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#answerMsMax = Math.min(this.#answerMsMax, stopMsMax)
    for (const stream of this.#streams.values()) stream.setTimeout(this.#answerMsMax)
  }

  /** Ends all connections, which must be free. */
  async end(): Promise<void> {
    if (!this.#pool.ending) await unlessAborted(this.#pool.end(), this.#givenUp.signal).catch(() => {})
    for (const stream of this.#streams.values()) stream.destroySoon()
  }

  /** Ends a connection that is silent; with TLS, another stream takes over from the first. */
  #watch(client: pg.ClientBase): void {
    const [before, stream] = [this.#streams.get(client), streamOf(client)]
    if (stream === before) return
    before?.setTimeout(0)
    this.#streams.set(client, stream)
    stream
      .setTimeout(this.#answerMsMax)
      .on('timeout', () => this.#silent(client, stream))
      .once('close', () => {
        this.#streams.delete(client)
        this.#idle.delete(client)
      })
  }

  /** Replaces what is unused, and waits for less. */
  #suspect(): void {
    for (const [client, stream] of this.#streams) {
      if (this.#idle.has(client)) stream.destroy()
      else stream.setTimeout(Math.min(this.#answerMsMax, suspectMsMax))
    }
  }

  #silent(client: pg.ClientBase, stream: Socket): void {
    stream.destroy()
    for (const pool of this.#idle.has(client) ? [] : this.#all) pool.#suspect()
    if (this.#isStopping && !this.#idle.has(client))
      this.#givenUp.abort(new LostConnectionError('the database does not answer, and the process stops'))
  }
}

/** Ends the connection in place of sending the password as it is, which anyone on the way could ask for. */
function refuseClearPassword(client: pg.Client): void {
  connectionOf(client).prependListener('authenticationCleartextPassword', () =>
    streamOf(client).destroy(new RefusedConnectionError('asks for the password in clear text, without TLS')),
  )
}

function connectionOf(client: pg.ClientBase): pg.Connection {
  return Reflect.get(client, 'connection')
}

/** The library offers no other way to end a connection at once, whatever waits for it. */
function streamOf(client: pg.ClientBase): Socket {
  const stream: unknown = Reflect.get(connectionOf(client), 'stream')
  return stream as Socket
}
