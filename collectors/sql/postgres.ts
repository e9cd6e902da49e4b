import pg from 'pg'
import type { Hour } from 'tidegauge'
import { type ServerSettings, settingsOf } from './postgres-address.ts'
import { clearPassword, connectError, queryError } from './postgres-errors.ts'
import { notOneRow, type RowColumn } from './row.ts'
import { type NumberedStatement, numbered } from './statement.ts'

/** A query of a PostgreSQL database, and its limits. */
export interface PostgresQuery {
  /** `postgres://…` */
  readonly address: string
  readonly query: string
  readonly hour: Hour
  /** Time limit of the run, in milliseconds. */
  readonly deadlineMs: number
  /** Aborted at the deadline. */
  readonly signal: AbortSignal
}

/** Connections to one server: queries of a backfill wait for each other. */
const connectionsMax = 4
/** Time for which a connection is kept for the next query. */
const idleMsMax = 5_000
const connectMsMax = 20_000
/** Part of the deadline that the server has for the query, so that its own words arrive before the run ends. */
const queryShare = 0.9

/** By address. */
const pools = new Map<string, pg.Pool>()

/**
 * The one row that a query of a PostgreSQL database returns, read in a transaction that may only read, with the time
 * zone UTC and with all digits of a double, whatever the server's settings.
 *
 * @throws Error when the server cannot be reached or refuses, or when the query does not return one row
 */
export async function postgresRow(question: PostgresQuery): Promise<readonly RowColumn[]> {
  const settings = settingsOf(question.address)
  const server = `${settings.host}:${settings.port}`
  const pool = pools.get(question.address) ?? newPool(settings)
  pools.set(question.address, pool)
  const client = await pool.connect().catch((error: unknown) => {
    throw connectError(error, server, connectMsMax)
  })
  const [first, second] = await readRows(client, question, server)
  if (!first || second) throw notOneRow(first ? 2 : 0)
  return first
}

function newPool({ refusesClearPassword, ...settings }: ServerSettings): pg.Pool {
  const limits = { max: connectionsMax, idleTimeoutMillis: idleMsMax, connectionTimeoutMillis: connectMsMax }
  class ClosedClient extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super(config)
      // Anyone on the way could ask for it.
      const connection: pg.Connection = Reflect.get(this, 'connection')
      const refuse = () => Reflect.get(connection, 'stream').destroy(new Error(clearPassword))
      if (refusesClearPassword) connection.prependListener('authenticationCleartextPassword', refuse)
    }
  }
  const pool = new pg.Pool({ ...settings, ...limits, keepAlive: true, allowExitOnIdle: true, Client: ClosedClient })
  // Without listeners, a connection that breaks while nothing waits for it would end the process.
  pool.on('error', () => {}).on('connect', client => void client.on('error', () => {}))
  return pool
}

/** Reads at most two rows, and gives the connection back; broken off, it is closed, and the server ends the query. */
async function readRows(client: pg.PoolClient, { query, hour, deadlineMs, signal }: PostgresQuery, server: string) {
  let isTaken = true
  const release = (isClosed: boolean) => {
    if (isTaken) client.release(isClosed)
    isTaken = false
  }
  const stop = () => release(true)
  signal.addEventListener('abort', stop)
  const timeoutMs = Math.max(1, Math.floor(deadlineMs * queryShare))
  try {
    await client.query(
      `BEGIN READ ONLY; SET LOCAL statement_timeout = ${timeoutMs}; SET LOCAL TimeZone = 'UTC'; SET LOCAL extra_float_digits = 3`,
    )
    const rows = await firstRows(client, numbered(query, hour))
    if (rows.length < 2) {
      await client.query('ROLLBACK')
      release(false)
    }
    return rows
  } catch (error) {
    throw queryError(error, server, timeoutMs)
  } finally {
    release(true)
    signal.removeEventListener('abort', stop)
  }
}

/** OID of the type bool; all types are read as the text that the server sends. */
const boolType = 16
const asText = { getTypeParser: () => (text: string) => text }

/** The first rows of a query; does not wait for the others once there are two. */
function firstRows(client: pg.PoolClient, { text, values }: NumberedStatement): Promise<RowColumn[][]> {
  const rows: RowColumn[][] = []
  const { promise, resolve, reject } = Promise.withResolvers<RowColumn[][]>()
  // The extended protocol takes one statement alone, also without parameters.
  const config = { text, values: [...values], rowMode: 'array', types: asText, queryMode: 'extended' }
  const query = new pg.Query<(string | null)[]>(config)
  query.on('row', (row: readonly (string | null)[], result: pg.ResultBuilder | undefined) => {
    const fields = result?.fields ?? []
    rows.push(
      fields.map(({ name, dataTypeID }, index) => {
        const value = row[index] ?? null
        return { name, value: dataTypeID === boolType && value !== null ? value === 't' : value }
      }),
    )
    if (rows.length === 2) resolve(rows)
  })
  query.on('end', () => resolve(rows))
  query.on('error', reject)
  client.query(query)
  return promise
}
