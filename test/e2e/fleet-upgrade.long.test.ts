import { describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourNumber, hoursFrom, hourText } from '../../src/model/hour.ts'
import { tablesVersion } from '../../src/outbox/store/schema.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { source, startDaemon } from '../support/tidegauge.ts'
import { untilTrue } from '../support/until-true.ts'
import { fleetScene, startFleet } from './fleet-scene.ts'

/** Time within which readiness tells the truth, and more on a busy machine. */
const truthMsMax = 60_000

/** Makes a daemon that of a later version, whose tables have a column more; see the file. */
const next = { NODE_OPTIONS: `--import ${new URL('../support/next-version.ts', import.meta.url).href}` }

describe.skipIf(postgresPlace.kind === 'missing')('an upgrade of a fleet, one daemon after the other', () => {
  const databases = useTestDatabases()

  it('goes on with the first upgraded daemon; the others write, claim and deliver nothing more, and say so', async () => {
    const world = await fleetScene()
    const current = hourAt(systemTime.nowMs())
    const since = hourAfter(current, -23)
    const expected = hoursFrom(since, current)
    const open = world.hold()
    const fleet = await startFleet(databases, world, since, ['eu-1', 'eu-2', 'eu-3'])
    const { daemons, configs, env } = fleet
    world.answerHour(current)
    await world.until(() => world.sent.size > 0)
    expect(await daemons[2]?.kill('SIGTERM')).toBe(0)
    const upgraded = await startDaemon(configs[2] ?? '', { ...env, ...next }, source)
    const startedMs = systemTime.steadyMs()
    for (const daemon of daemons.slice(0, 2)) {
      await untilTrue(async () => {
        const answer = await fetch(`${daemon.url}/readyz`)
        const text = await answer.text()
        return answer.status === 503 && text.includes(`brought its tables to version ${tablesVersion + 1}`)
      })
      expect((await fetch(`${daemon.url}/livez`)).status).toBe(200)
    }
    expect(systemTime.steadyMs() - startedMs).toBeLessThan(truthMsMax)
    const held = () =>
      databases.server.query(
        `SELECT DISTINCT holder FROM tidegauge.lease WHERE until IS NULL AND holder <> ''`,
        [],
        fleet.name,
      )
    await untilTrue(async () => JSON.stringify(await held()) === '[{"holder":"daemon/eu-3"}]')
    open()
    await world.until(() => expected.every(hour => world.sent.has(hourText(hour))))
    // Nothing is sent twice with a difference.
    for (const hour of expected) expect([...(world.sent.get(hourText(hour)) ?? [])]).toEqual([hourNumber(hour)])
    expect(await daemons[0]?.kill('SIGTERM')).toBe(0)
    expect(await daemons[1]?.kill('SIGTERM')).toBe(0)
    const second = await startDaemon(configs[0] ?? '', { ...env, ...next }, source)
    expect((await fetch(`${second.url}/readyz`)).status).toBe(200)
    for (const daemon of [upgraded, second]) expect(await daemon.kill('SIGTERM')).toBe(0)
  })
})
