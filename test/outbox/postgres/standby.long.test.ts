import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openPostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { debianFolders } from '../../support/postgres/programs.ts'
import { PostgresServer } from '../../support/postgres/server.ts'
import { at, balanceOf, hoursOf, plan, record } from '../contract/steps.ts'

/** A version that has all programs; that on PATH is a wrapper. */
const bin = debianFolders.find(folder => existsSync(join(folder, 'pg_basebackup')))
const initdb = bin === undefined ? '' : join(bin, 'initdb')

/** A server and its standby, stopped with the test. */
async function pair() {
  const primary = await PostgresServer.started(initdb)
  onTestFinished(() => primary.stop())
  const standby = await primary.standby()
  onTestFinished(() => standby.stop())
  return { primary, standby }
}

async function opened(server: PostgresServer) {
  const outbox = await openPostgresOutbox(addressOf(server.address()))
  onTestFinished(() => outbox.close())
  return outbox
}

const hours = 200

it.skipIf(!existsSync(initdb))(
  'has every stored value on a synchronous standby that is promoted in mid-run (needs the program pg_basebackup)',
  async () => {
    const { primary, standby } = await pair()
    await primary.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await primary.query('SELECT pg_reload_conf()')
    const outbox = await opened(primary)
    await plan(outbox, { since: anHour, current: at(hours - 1) })
    const stored: number[] = []
    const isEnough = Promise.withResolvers<void>()
    const writing = (async () => {
      for (let count = 0; count < hours; count += 1) {
        await record(outbox, metrics(20, at(count)))
        stored.push(count)
        if (stored.length === 30) isEnough.resolve()
      }
    })().catch(() => {})
    await isEnough.promise
    await primary.kill()
    await writing
    expect(stored.length).toBeLessThan(hours)
    await standby.promote()
    const next = await opened(standby)
    const states = (await hoursOf(next, anHour, at(hours - 1))).map(({ state }) => state)
    for (const count of stored) expect(states[count], `hour ${count}`).toBe('collected')
    for (let count = stored.length; count < hours; count += 1) await record(next, metrics(20, at(count)))
    expect(await balanceOf(next)).toMatchObject({ enqueued: 20 * hours, due: 20 * hours })
  },
)

it.skipIf(!existsSync(initdb))(
  'expects the hours again whose values an asynchronous standby did not have (needs the program pg_basebackup)',
  async () => {
    const { primary, standby } = await pair()
    const outbox = await opened(primary)
    await plan(outbox, { since: anHour, current: at(1) })
    await record(outbox, metrics(20))
    await standby.caughtUpWith(primary)
    await standby.pause()
    await record(outbox, metrics(20, at(1)))
    await plan(outbox, { current: at(2) })
    await primary.kill()
    await standby.start()
    await standby.promote()
    const next = await opened(standby)
    await plan(next, { current: at(2) })
    const states = (await hoursOf(next, anHour, at(2))).map(({ state }) => state)
    expect(states).toEqual(['collected', 'due', 'due'])
    expect(await record(next, metrics(20, at(1)))).toEqual({ added: 20, corrected: 0 })
    expect(await balanceOf(next)).toMatchObject({ enqueued: 40 })
  },
)
