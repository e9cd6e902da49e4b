import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourNumber, hoursFrom, hourText } from '../../src/model/hour.ts'
import { debianFolders } from '../support/postgres/programs.ts'
import { PostgresServer } from '../support/postgres/server.ts'
import { relayTo } from '../support/relay.ts'
import { fleetScene, startFleet } from './fleet-scene.ts'

const bin = debianFolders.find(folder => existsSync(join(folder, 'pg_basebackup')))
const initdb = bin === undefined ? '' : join(bin, 'initdb')

/** A server and its standby, and an address that leads to the one that is primary. */
async function pair() {
  const primary = await PostgresServer.started(initdb)
  onTestFinished(() => primary.stop())
  const standby = await primary.standby()
  onTestFinished(() => standby.stop())
  const relay = await relayTo(primary)
  const address = primary.address().replace(`:${primary.port}/`, `:${relay.port}/`)
  return { primary, standby, relay, databases: { empty: async () => address } }
}

describe.skipIf(!existsSync(initdb))('a fleet whose database dies (needs the program pg_basebackup)', () => {
  it('goes on with a synchronous standby: no hour is missing, and what was stored is not read again', async () => {
    const { primary, standby, relay, databases } = await pair()
    await primary.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await primary.query('SELECT pg_reload_conf()')
    const { world, expected, daemons } = await staged(databases)
    await world.until(() => world.sent.size >= 8)
    await primary.kill()
    await standby.promote()
    const sentBefore = [...world.sent.keys()]
    relay.switchTo(standby)
    await world.until(() => expected.every(hour => world.sent.has(hourText(hour))))
    for (const hour of expected) expect([...(world.sent.get(hourText(hour)) ?? [])]).toEqual([hourNumber(hour)])
    const readTwice = expected.filter(hour => world.reads.filter(read => read === hour).length > 1)
    expect(sentBefore.length).toBeGreaterThanOrEqual(8)
    expect(readTwice.map(hourText).filter(hour => sentBefore.includes(hour))).toEqual([])
    for (const daemon of daemons) expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('goes on with an asynchronous standby that has lost commits: their hours are read again, with the same values', async () => {
    const { primary, standby, relay, databases } = await pair()
    const { world, expected, daemons } = await staged(databases)
    await world.until(() => world.sent.size >= 4)
    await standby.caughtUpWith(primary)
    await standby.pause()
    const seen = world.sent.size
    await world.until(() => world.sent.size >= seen + 4)
    await primary.kill()
    await standby.start()
    await standby.promote()
    relay.switchTo(standby)
    await world.until(() => expected.every(hour => world.sent.has(hourText(hour))))
    for (const hour of expected) expect([...(world.sent.get(hourText(hour)) ?? [])]).toEqual([hourNumber(hour)])
    expect(world.reads.length).toBeGreaterThan(expected.length)
    for (const daemon of daemons) expect(await daemon.kill('SIGTERM')).toBe(0)
  })
})

/** Two daemons with a backlog of two days. */
async function staged(databases: Parameters<typeof startFleet>[0]) {
  const world = await fleetScene()
  const current = hourAt(systemTime.nowMs())
  const expected = hoursFrom(hourAfter(current, -47), current)
  const { daemons } = await startFleet(databases, world, hourAfter(current, -47), ['eu-1', 'eu-2'])
  return { world, expected, daemons }
}
