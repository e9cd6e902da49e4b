import { describe, expect, it, onTestFinished } from 'vitest'
import { ConnectionPool, type ConnectionPoolOptions } from '../../../src/outbox/postgres/connection/pool.ts'
import { certificateFor } from '../../support/certificate.ts'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'
import { PostgresServer } from '../../support/postgres/server.ts'
import { clearPasswordServer, relayTo } from '../../support/relay.ts'

const answerMsMax = 1_000

function poolOn(address: string, more: Partial<ConnectionPoolOptions> = {}) {
  const both = { pools: new Set<ConnectionPool>(), givenUp: new AbortController() }
  const use = { name: 'test', connectionsMax: 2, isPipelined: true, answerMsMax, ...both }
  const pool = new ConnectionPool(addressOf(address), { ...use, ...more })
  onTestFinished(() => pool.end())
  return pool
}

describe.skipIf(postgresPlace.kind === 'missing')('connections to a database', () => {
  const databases = useTestDatabases()
  const behind = (address: string, port: number) => address.replace(/:\d+\//, `:${port}/`)

  it('send no password as it is without TLS', async () => {
    const { port, sent } = await clearPasswordServer()
    // Reached on this machine under a name that is not known to be its own.
    const pool = poolOn(`postgres://tides:secretive@0.0.0.0:${port}/tides?sslmode=disable`)
    await expect(pool.executeSql('SELECT 1')).rejects.toThrow('asks for the password in clear text, without TLS')
    expect(sent()).toBe('')
  })

  it('are given up when a gateway has forgotten them, the unused ones included, and are made again', async () => {
    const relay = await relayTo(databases.server)
    const pool = poolOn(behind(await databases.empty(), relay.port))
    await Promise.all([pool.executeSql('SELECT pg_sleep(0.1)'), pool.executeSql('SELECT pg_sleep(0.1)')])
    expect(relay.opened).toBe(2)
    relay.forget()
    const asked = [1, 2, 3].map(() => pool.executeSql('SELECT 1'))
    const answers = await Promise.allSettled(asked)
    expect(answers.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0)
    expect((await pool.executeSql('SELECT 2 AS two')).rows).toEqual([{ two: 2 }])
    expect(relay.opened).toBeGreaterThan(2)
  })

  it('are replaced as soon as another one was silent, in every pool of the database', async () => {
    const relay = await relayTo(databases.server)
    const address = behind(await databases.empty(), relay.port)
    const pools = new Set<ConnectionPool>()
    const [quick, slow] = [poolOn(address, { pools }), poolOn(address, { pools, answerMsMax: 600_000 })]
    await Promise.all([quick, slow].map(pool => pool.executeSql('SELECT 1')))
    relay.forget()
    const underWay = slow.executeSql('SELECT 1')
    await expect(quick.executeSql('SELECT 1')).rejects.toThrow()
    await expect(underWay).rejects.toThrow()
    expect((await slow.executeSql('SELECT 2 AS two')).rows).toEqual([{ two: 2 }])
  })

  it('are no more than they should be while the server waits for a lock', async () => {
    const address = await databases.empty()
    const name = new URL(address).pathname.slice(1)
    const [pool, other] = [poolOn(address), poolOn(address, { name: 'locks', answerMsMax: 600_000 })]
    await databases.server.query('CREATE TABLE locked (one integer)', [], name)
    onTestFinished(async () => void (await databases.server.query('DROP TABLE locked', [], name)))
    const locking = await other.connect()
    await locking.query('BEGIN; LOCK TABLE locked')
    onTestFinished(() => locking.release(true))
    const open = `SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'test' AND datname = '${name}'`
    for (let round = 0; round < 4; round += 1) {
      const asked = [1, 2].map(() => pool.executeSql('SELECT one FROM locked'))
      const codes = (await Promise.allSettled(asked)).map(one => one.status === 'rejected' && one.reason.code)
      expect(codes).toEqual(['57014', '57014'])
      expect((await databases.server.query(open, [], name))[0]?.['count']).toBeLessThanOrEqual(2)
    }
  })

  it('have settings of their own, whatever the database has', async () => {
    const address = await databases.empty()
    const name = new URL(address).pathname.slice(1)
    const settings = { DateStyle: 'German', standard_conforming_strings: 'off' }
    for (const [setting, value] of Object.entries(settings)) {
      await databases.server.query(`ALTER DATABASE ${name} SET ${setting} = '${value}'`)
      onTestFinished(async () => void (await databases.server.query(`ALTER DATABASE ${name} RESET ${setting}`)))
    }
    const shown = await poolOn(address).executeSql(
      `SELECT '\\' AS one, current_setting('DateStyle') AS style, current_setting('client_encoding') AS encoding, date '2026-02-01'::text AS day`,
    )
    expect(shown.rows).toEqual([{ one: '\\', style: 'ISO, MDY', encoding: 'UTF8', day: '2026-02-01' }])
  })

  it('of a process that stops: a silent one is the last that is waited for, an unused one says nothing', async () => {
    const relay = await relayTo(databases.server)
    const address = behind(await databases.empty(), relay.port)
    const givenUp = new AbortController()
    const [pool, other] = [1, 2].map(() => poolOn(address, { answerMsMax: 60_000, givenUp }))
    if (!pool || !other) throw new Error('two pools were made')
    // Both connect; one of the connections is unused for longer than an answer may take then.
    await Promise.all([pool.executeSql('SELECT 1'), pool.executeSql('SELECT 1'), other.executeSql('SELECT 1')])
    for (const each of [pool, other]) each.limitWaits()
    for (let time = 0; time < 20; time += 1) await other.executeSql('SELECT pg_sleep(0.1)')
    expect(givenUp.signal.aborted).toBe(false)
    relay.silence()
    await expect(pool.executeSql('SELECT 1')).rejects.toThrow()
    expect(givenUp.signal.aborted).toBe(true)
    await expect(other.executeSql('SELECT 1')).rejects.toThrow('the process stops')
    await pool.end()
  })

  it('with TLS live as long as they are answered', async () => {
    if (postgresPlace.kind === 'missing') return
    const server = await PostgresServer.started(postgresPlace.path, { certificate: certificateFor(['other.test']) })
    onTestFinished(() => server.stop())
    const pool = poolOn(server.address('?sslmode=no-verify'))
    const backends = new Set<unknown>()
    for (let time = 0; time < 15; time += 1) {
      const { rows } = await pool.executeSql('SELECT pg_sleep(0.1), pg_backend_pid() AS pid')
      backends.add(Object(rows[0])['pid'])
    }
    expect(backends.size).toBe(1)
  })
})
