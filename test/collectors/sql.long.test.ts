import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { configured, faultOf, hour } from '../runner/setup.ts'
import { certificateFor } from '../support/certificate.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { PostgresServer, postgresPassword } from '../support/postgres/server.ts'
import { clearPasswordServer } from '../support/relay.ts'
import { collectorContract } from './contract.ts'

const said: string[] = []
const runner = new ProcessRunner({
  chains: {},
  deadlineMs: 60_000,
  time: systemTime,
  log: (_collector, _level, message) => void said.push(message),
})
afterAll(() => runner.stop())

const variable = 'TIDEGAUGE_TEST_DATABASE'
const earlier = hourAfter(hour, -30)

type Query = {
  readonly query: string
  readonly values?: Readonly<Record<string, object>>
  readonly deadlineMs?: number
}

/** The values of a query of a database; a failure as its words. */
async function valuesOf(database: object, { query, values = { Value: {} }, deadlineMs }: Query, at = hour) {
  const own = configured('sql', { options: { ...database, query, values }, ...(deadlineMs && { deadlineMs }) })
  const { readings, failures } = await runner.collect(own, at)
  return {
    ...readings,
    ...Object.fromEntries(Object.entries(failures).map(([label, { message }]) => [label, message])),
  }
}

const failureOf = async (database: object, query: Query) =>
  (
    await faultOf(
      runner.collect(configured('sql', { options: { values: { Value: {} }, ...database, ...query } }), hour),
    )
  ).message

/** A day's sales, the last one after the hour. */
const sales = [
  ['2026-11-20T11:30:00Z', '0.10'],
  ['2026-11-20T12:59:59Z', '0.20'],
  ['2026-11-20T13:00:01Z', '5.00'],
] as const

describe('sql, of SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))
  const file = join(folder, 'app.db')
  const sqlite = { path: file }
  beforeAll(() => {
    const database = new Database(file)
    database.pragma('journal_mode = WAL')
    database.exec('CREATE TABLE sales (at TEXT, amount TEXT, at_seconds INTEGER)')
    for (const [at, amount] of sales) {
      database.prepare('INSERT INTO sales VALUES (?, ?, ?)').run(at, amount, Date.parse(at) / 1000)
    }
    database.close()
    writeFileSync(join(folder, 'text.db'), 'a text that is longer than the header of a database would be '.repeat(20))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  collectorContract('sql', {
    use: 'sql',
    options: () => ({
      ...sqlite,
      query: 'SELECT count(*) AS n FROM sales WHERE at <= $hour',
      values: { N: { min: 0 } },
    }),
    hours: () => [hour, earlier],
    broken: () => [
      // Of the same file: each file has a process of its own.
      { ...sqlite, query: 'SELECT 1 AS n FROM gone', values: { N: {} } },
      { ...sqlite, query: 'SELECT 1 AS n WHERE 0', values: { N: {} } },
      { ...sqlite, query: 'SELECT NULL AS n', values: { N: {} } },
    ],
  })

  it('gives the hour in each of its forms, and reads columns by name', async () => {
    const query = `
      SELECT count(*) AS total, $hour = '2026-11-20T13:00:00Z' AS text, typeof($hourMs) = 'integer' AS kind, -- $hour
        sum(at_seconds <= $hourSeconds) AS "Sold", $hourMs AS ms /* ; */ FROM sales;`
    const values = { Total: {}, Text: {}, Kind: {}, Sold: {}, Ms: { column: 'ms' } }
    expect(await valuesOf(sqlite, { query, values })).toEqual({ Total: 3, Text: 1, Kind: 1, Sold: 2, Ms: hour })
    expect(await valuesOf(sqlite, { query, values }, earlier)).toMatchObject({ Sold: 0, Ms: earlier })
  })

  it('rounds once: integers beyond 2^53 are exact', async () => {
    const query = "SELECT 9007199254740993 AS big, 9007199254740993 AS unit, '0.1' AS text, 1e300 AS real"
    const values = { Big: {}, Unit: { decimals: 6 }, Text: {}, Real: {} }
    expect(await valuesOf(sqlite, { query, values })).toEqual({
      Big: 2 ** 53,
      Unit: 9007199254.740993,
      Text: 0.1,
      Real: 1e300,
    })
  })

  it('fails each value alone that is not a number', async () => {
    const query = "SELECT 1 AS good, NULL AS none, 'n/a' AS word, x'00' AS blob, 9e999 AS huge, 1 AS twice, 2 AS TWICE"
    const values = { Good: {}, None: {}, Word: {}, Blob: {}, Huge: {}, Gone: {}, Two: { column: 'Twice' } }
    expect(await valuesOf(sqlite, { query, values })).toEqual({
      Good: 1,
      None: expect.stringMatching(/^column "none" is NULL: unknown is not zero/),
      Word: 'column "word" is "n/a", which is not a number: let the query give one',
      Blob: 'column "blob" is "a blob", which is not a number: let the query give one',
      Huge: 'column "huge" is "Infinity", which is not a number: let the query give one',
      Gone: 'the query returns no column "Gone": its columns are good, none, word, blob, huge, twice, TWICE',
      Two: 'the query returns 2 columns "Twice": name them apart, with AS',
    })
  })

  it.for([
    ['SELECT 1 AS Value WHERE $hour IS NULL', 'the query returns no row, and must return one row: take one with'],
    ['SELECT at AS Value FROM sales', 'the query returns several rows, and must return one row'],
    ['SELECT 1 FROM gone', 'SQLite refuses the query: no such table: gone'],
    [
      "WITH x AS (SELECT 1) INSERT INTO sales SELECT '', '', 1",
      'the query writes, or does something else than reading',
    ],
    [
      'WITH x AS (SELECT 1) DELETE FROM sales RETURNING 1 AS Value',
      'the query writes, or does something else than reading',
    ],
    ["SELECT load_extension('x') AS Value", 'SQLite refuses the query: '],
  ] as const)('refuses %s', async ([query, message]) => {
    expect(await failureOf(sqlite, { query })).toContain(message)
  })

  it('says which file does not exist', async () => {
    const query = 'SELECT 1 AS Value'
    const gone = join(folder, 'none.db')
    expect(await failureOf({ path: gone }, { query })).toBe(`there is no file ${gone}: check the path`)
    const text = join(folder, 'text.db')
    expect(await failureOf({ path: text }, { query })).toBe(`${text} is not a SQLite database`)
  })

  it('says that the file is locked, or was left in the middle of a write', async () => {
    const path = join(folder, 'journal.db')
    const writer = new Database(path)
    writer.exec('CREATE TABLE t (n); BEGIN EXCLUSIVE; INSERT INTO t VALUES (1)')
    expect(await failureOf({ path }, { query: 'SELECT 1 AS Value FROM t' })).toBe(
      `${path} is locked by another process for more than 2 s`,
    )
    writer.exec('COMMIT; PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN')
    writer.exec(
      'INSERT INTO t WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 20000) SELECT n FROM c',
    )
    // As a crash would leave them.
    const copy = join(folder, 'left.db')
    copyFileSync(path, copy)
    copyFileSync(`${path}-journal`, `${copy}-journal`)
    writer.close()
    expect(await failureOf({ path: copy }, { query: 'SELECT 1 AS Value FROM t' })).toBe(
      `${copy} was left in the middle of a write: the program that writes it must open it first`,
    )
  })

  it('has left the file as it was', () => {
    const database = new Database(file, { readonly: true })
    expect(database.prepare('SELECT count(*) AS n FROM sales').get()).toEqual({ n: 3 })
    database.close()
  })

  it('has a past only with the hour in its query', async () => {
    for (const [query, history] of [
      ['SELECT $hour AS Value', true],
      ['SELECT $hourSeconds AS Value', true],
      ["SELECT '$hour' AS Value", false],
      ['SELECT 1 AS Value -- $hour', false],
      ['SELECT /* $hour */ 1 AS Value, my$hour', false],
    ] as const) {
      const own = configured('sql', { options: { ...sqlite, query, values: { Value: {} } } })
      expect(await runner.describe(own), query).toMatchObject({ kind: 'usable', history })
    }
  })

  it('tells mistakes at their place', async () => {
    const values = { Value: {} }
    const postgres = { env: variable }
    const reads = 'must be a query that reads: SELECT …, or WITH … SELECT …'
    for (const [options, path, message] of [
      [{ query: 'SELECT 1', values }, [], 'must have a database: postgres or path'],
      [{ ...sqlite, postgres, query: 'SELECT 1', values }, ['path'], 'belongs to SQLite, and postgres is given, too'],
      [{ postgres: 'postgres://u:p@h/d', query: 'SELECT 1', values }, ['postgres'], 'must be { env: NAME } or { file:'],
      [{ ...sqlite, values }, ['query'], reads],
      [{ ...sqlite, query: ' -- nothing', values }, ['query'], reads],
      [{ ...sqlite, query: 'UPDATE sales SET amount = 1', values }, ['query'], reads],
      [
        { ...sqlite, query: 'SELECT 1; SELECT 2', values },
        ['query'],
        'must be one statement: there is more after its ;',
      ],
      [{ ...sqlite, query: 'SELECT $hours', values }, ['query'], 'knows no $hours: the hour is written $hour, '],
      [{ postgres, query: 'SELECT $1', values }, ['query'], 'knows no $1'],
      [{ ...sqlite, query: 'SELECT 1 WHERE a = :hour', values }, ['query'], 'knows no :hour'],
      [{ ...sqlite, query: 'SELECT ?', values }, ['query'], 'knows no ?'],
      [{ ...sqlite, query: 'SELECT 1', values: {} }, ['values'], 'must hold a value'],
      [{ ...sqlite, query: 'SELECT 1', values: { A: { decimals: -1 } } }, ['values', 'A', 'decimals'], 'must be'],
    ] as const) {
      expect(await runner.describe(configured('sql', { options })), JSON.stringify(options)).toMatchObject({
        kind: 'mistaken',
        mistakes: [{ path, message: expect.stringContaining(message) }],
      })
    }
  })
})

describe.skipIf(postgresPlace.kind === 'missing')('sql, of PostgreSQL (needs the program initdb)', () => {
  let server: PostgresServer
  const postgres = { postgres: { env: variable } }
  const useAddress = (address: string) => {
    process.env[variable] = address
    onTestFinished(() => void delete process.env[variable])
  }
  beforeAll(async () => {
    if (postgresPlace.kind === 'missing') return
    const certificate = certificateFor(['other.test'])
    server = await PostgresServer.started(postgresPlace.path, { certificate })
    const client = new pg.Client({ connectionString: server.address() })
    await client.connect()
    await client.query('CREATE TABLE sales (at timestamptz, local timestamp, amount numeric)')
    for (const [at, amount] of sales) {
      await client.query("INSERT INTO sales VALUES ($1, $1::timestamptz AT TIME ZONE 'UTC', $2)", [at, amount])
    }
    await client.query(`
      CREATE FUNCTION sell() RETURNS int LANGUAGE sql AS 'INSERT INTO sales VALUES (now(), now(), 1) RETURNING 1';
      CREATE ROLE bare LOGIN;`)
    // As an administrator may: a double is then a text of 15 digits.
    await client.query('ALTER DATABASE postgres SET extra_float_digits = 0')
    await client.end()
  })
  afterAll(() => server?.stop())

  it('gives the hour in each of its forms, in UTC, and reads columns by name', async () => {
    useAddress(server.address())
    const query = `
      SELECT sum(amount) FILTER (WHERE at <= $hour) AS sold, count(*) FILTER (WHERE local <= $hour) AS "Count",
        extract(epoch FROM $hour) = $hourSeconds AS same, $hourMs AS ms, date_part('hour', $hour) AS clock,
        '$hour; ' || $tag$ $hour ; ' $tag$ = '' AS quoted -- ;
      FROM sales;`
    const values = { Sold: { unit: 'EUR' }, Count: {}, Same: {}, Ms: {}, Clock: {}, Quoted: {} }
    const all = { Sold: 0.3, Count: 2, Same: 1, Ms: hour, Clock: 13, Quoted: 0 }
    expect(await valuesOf(postgres, { query, values })).toEqual(all)
    const none = { Sold: expect.stringContaining('column "sold" is NULL'), Count: 0, Same: 1, Ms: earlier, Clock: 7 }
    expect(await valuesOf(postgres, { query, values }, earlier)).toMatchObject(none)
  })

  it('rounds once: numeric and bigint are exact', async () => {
    useAddress(server.address())
    const query = `SELECT 9007199254740993::bigint AS big, 123456789012345678901234567890.5 AS "Numeric", true AS yes,
      0.1::float8 + 0.2::float8 AS double, 1e-7::float8 AS small, ' 12 ' AS text, 'NaN'::float8 AS nan, '1 day'::interval AS day`
    const values = {
      Big: { decimals: 3 },
      Numeric: { decimals: 18 },
      ...{ Yes: {}, Double: {}, Small: {}, Text: {}, NaN: {}, Day: {} },
    }
    expect(await valuesOf(postgres, { query, values })).toEqual({
      Big: Number('9007199254740.993'),
      Numeric: Number('123456789012.3456789012345678905'),
      Yes: 1,
      Double: 0.30000000000000004,
      Small: 1e-7,
      Text: 'column "text" is " 12 ", which is not a number: let the query give one',
      NaN: 'column "nan" is "NaN", which is not a number: let the query give one',
      Day: 'column "day" is "1 day", which is not a number: let the query give one',
    })
  })

  it.for([
    ['SELECT 1 AS value WHERE false', 'the query returns no row, and must return one row'],
    ['SELECT generate_series(1, 100000000) AS value', 'the query returns several rows, and must return one row'],
    ['SELECT 1 FROM gone', /^127\.0\.0\.1:\d+ refuses the query: relation "gone" does not exist$/],
    ['SELECT sell() AS value', 'the query writes, and it may only read: cannot execute INSERT in a read-only'],
    [
      'WITH x AS (DELETE FROM sales RETURNING 1) SELECT count(*) AS value FROM x',
      'the query writes, and it may only read',
    ],
    ["SELECT set_config('transaction_read_only', 'off', true)::text || sell() AS value", 'refuses the query: '],
    ['SELECT pg_terminate_backend(pg_backend_pid()) AS value', 'terminating connection due to administrator command'],
  ] as const)('refuses %s', async ([query, message]) => {
    useAddress(server.address())
    expect(await failureOf(postgres, { query })).toMatch(
      typeof message === 'string' ? new RegExp(escaped(message)) : message,
    )
    expect(await valuesOf(postgres, { query: 'SELECT count(*) AS value FROM sales' })).toEqual({ Value: 3 })
  })

  it('ends a query on the server before the deadline', async () => {
    useAddress(server.address())
    const own = configured('sql', {
      options: { ...postgres, query: 'SELECT 1 AS value FROM pg_sleep(600)', values: { Value: {} } },
      deadlineMs: 60_000,
    })
    const { message } = await faultOf(runner.collect(own, hour))
    expect(message).toBe('the query takes longer than 54 s: give it an index, or the collector a longer deadline')
    const running =
      "SELECT count(*) AS value FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND state = 'active' AND pid <> pg_backend_pid()"
    expect(await valuesOf(postgres, { query: running })).toEqual({ Value: 0 })
  })

  it('waits its turn where many hours are asked for at once', async () => {
    useAddress(server.address())
    const query = 'SELECT count(*) AS value, $hourSeconds AS at, pg_backend_pid() AS pid'
    const values = { Value: {}, At: {}, Pid: {} }
    const hours = Array.from({ length: 40 }, (_, index) => hourAfter(hour, -index))
    const all = await Promise.all(hours.map(at => valuesOf(postgres, { query, values }, at)))
    expect(all.map(({ At }) => At)).toEqual(hours.map(at => at / 1000))
    expect(new Set(all.map(({ Pid }) => Pid)).size).toBeLessThanOrEqual(4)
  })

  it('has TLS as sslmode says', async () => {
    const query = 'SELECT ssl AS value FROM pg_stat_ssl WHERE pid = pg_backend_pid()'
    for (const [mode, isUsed] of [
      ['', 0],
      ['?sslmode=disable', 0],
      ['?sslmode=no-verify', 1],
    ] as const) {
      useAddress(server.address(mode))
      expect(await valuesOf(postgres, { query }), mode).toEqual({ Value: isUsed })
    }
    for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full']) {
      useAddress(server.address(`?sslmode=${mode}`))
      expect(await failureOf(postgres, { query }), mode).toMatch(
        /^the certificate of 127\.0\.0\.1:\d+ is not accepted \(\w+\): set NODE/,
      )
    }
  })

  it('says what is wrong with a connection, and never the password', async () => {
    const noTls = createServer(socket => socket.once('data', () => socket.end('N'))).listen(0, '127.0.0.1')
    onTestFinished(() => void noTls.close())
    await new Promise(resolve => noTls.once('listening', resolve))
    const bound = noTls.address()
    const noTlsPort = typeof bound === 'object' && bound ? bound.port : 0
    const clear = await clearPasswordServer()
    const plain = `owner:${postgresPassword}@127.0.0.1:${server.port}`
    const notAddress = 'options.postgres is not an address like postgres://USER:PASSWORD@HOST:5432/DATABASE'
    for (const [address, message] of [
      [
        server.address().replace('owner:', 'owner:wrong'),
        'refuses the connection: password authentication failed for user "owner"',
      ],
      [
        server.address().replace('/postgres', '/none').replace('postgres:/none', 'postgres:/'),
        'refuses the connection: database',
      ],
      [
        `postgres://bare@127.0.0.1:${server.port}/postgres`,
        'asks for a password, and the address has none that it takes',
      ],
      [server.address().replace(String(server.port), '1'), '127.0.0.1:1 does not answer (ECONNREFUSED)'],
      ['postgres://owner:secretive@no-such-host.invalid/x', 'no-such-host.invalid:5432 does not answer (E'],
      [
        `postgres://owner:secretive@127.0.0.1:${noTlsPort}/x?sslmode=require`,
        'has no TLS: add sslmode=disable to the address, only',
      ],
      [
        `postgres://owner:secretive@0.0.0.0:${clear.port}/x?sslmode=disable`,
        'asks for the password in clear text, without TLS: add sslmode=verify-full',
      ],
      [server.address('?sslmode=sometimes'), 'sslmode in options.postgres must be one of disable, no-verify, prefer,'],
      [server.address('?sslrootcert=/ca.pem'), 'can name no certificate files: set NODE_EXTRA_CA_CERTS'],
      [
        'postgres://owner:secretive@%2Fvar%2Frun%2Fpostgresql/x',
        'must name a host: a collector can use the network, but',
      ],
      ['postgres:///x?host=/var/run/postgresql', notAddress],
      ['postgres://owner:secretive@h/x?host=/var/run/postgresql', 'must name a host'],
      [`postgres://${plain}/postgres`, notAddress],
      ['postgres://owner:12#secretive@h/x', notAddress],
      ['postgres://owner:%zz@h/x', notAddress],
      ['mysql://owner:secretive@h/x', notAddress],
      ['host=h user=owner password=secretive', notAddress],
    ] as const) {
      useAddress(address)
      const fault = await faultOf(
        runner.collect(
          configured('sql', { options: { ...postgres, query: 'SELECT 1 AS value', values: { Value: {} } } }),
          hour,
        ),
      )
      expect(fault.message, address).toContain(message)
      const shown = JSON.stringify([fault, fault.message, said])
      for (const secret of [
        'secretive',
        'pass word',
        postgresPassword,
        encodeURIComponent(postgresPassword),
        'wrong',
      ]) {
        expect(shown, address).not.toContain(secret)
      }
    }
    expect(clear.sent()).toBe('')
  })
})

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
