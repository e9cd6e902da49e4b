import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourNumber, hoursFrom, hourText } from '../../src/model/hour.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { dropJobs } from '../support/postgres/drop-jobs.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { start, tidegauge } from '../support/tidegauge.ts'
import { fleetScene, startFleet } from './fleet-scene.ts'

/** Hours of a window in these tests. */
const windowHours = 20

/** Requests that a daemon's collectors send to one host at a time. */
const readsAtOnce = 8

describe.skipIf(postgresPlace.kind === 'missing')('a backfill in a fleet', () => {
  const databases = useTestDatabases()

  async function staged() {
    const world = await fleetScene()
    const current = hourAt(systemTime.nowMs())
    const [from, to] = [hourAfter(current, -300), hourAfter(current, -101)]
    const fleet = await startFleet(databases, world, current, ['eu-1', 'eu-2', 'eu-3'])
    await world.until(() => world.sent.has(hourText(current)))
    world.reads.length = 0
    const words = [
      'backfill',
      '--from',
      hourText(from),
      '--to',
      hourText(to),
      '--json',
      '--concurrency',
      `${windowHours}`,
    ]
    const args = [...words, '--config', fleet.configs[0] ?? '']
    return { world, fleet, args, hours: hoursFrom(from, to) }
  }

  it('is read by all daemons together, each hour once, also when one is killed and the jobs are dropped', async () => {
    const { world, fleet, args, hours } = await staged()
    const { daemons, env, name } = fleet
    const open = world.hold()
    const asking = tidegauge(args, env)
    // Each daemon has a window in hand, and reads as much of it at a time as one host is asked for.
    await world.until(() => world.reads.length >= 2 * readsAtOnce + 1)
    await daemons[2]?.kill('SIGKILL')
    await dropJobs(text => databases.server.query(text, [], name))
    open()
    const { code, stdout, stderr } = await asking
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('failed')])
    const { collectors, left } = JSON.parse(stdout)
    expect(left).toBe(0)
    const [{ done, there, failed }] = collectors
    // Those that were stored when the jobs were dropped are there when their window is read again.
    expect([done + there, failed]).toEqual([hours.length, 0])
    await world.until(() => hours.every(hour => world.sent.has(hourText(hour))))
    for (const hour of hours) expect([...(world.sent.get(hourText(hour)) ?? [])]).toEqual([hourNumber(hour)])
    const again = world.reads.filter(hour => hours.includes(hour)).length - hours.length
    expect(again, 'only those that were in hand').toBeLessThanOrEqual(3 * windowHours)
  })

  it('goes on when the command is stopped and the jobs are dropped', async () => {
    const { world, fleet, args, hours } = await staged()
    const open = world.hold()
    const asking = start(args, fleet.env)
    await world.until(() => world.reads.length >= 2 * readsAtOnce + 1)
    asking.kill('SIGINT')
    await once(asking, 'exit')
    await dropJobs(text => databases.server.query(text, [], fleet.name))
    open()
    await world.until(() => hours.every(hour => world.sent.has(hourText(hour))))
    for (const hour of hours) expect([...(world.sent.get(hourText(hour)) ?? [])]).toEqual([hourNumber(hour)])
  })

  it('goes on when the command is stopped, and is not read again when it is asked for again', async () => {
    const { world, fleet, args, hours } = await staged()
    const open = world.hold()
    const asking = start(args, fleet.env)
    await world.until(() => world.reads.length >= 2 * readsAtOnce + 1)
    asking.kill('SIGINT')
    const [code] = await once(asking, 'exit')
    expect(code).toBe(1)
    open()
    await world.until(() => hours.every(hour => world.sent.has(hourText(hour))))
    const again = await tidegauge(args, fleet.env)
    expect(again.code).toBe(0)
    expect(JSON.parse(again.stdout).collectors).toMatchObject([{ done: 0, there: hours.length, failed: 0 }])
    expect(world.reads.filter(hour => hours.includes(hour))).toHaveLength(hours.length)
  })
})
