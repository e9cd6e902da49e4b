import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourNumber, hoursFrom, hourText } from '../../src/model/hour.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { answering } from '../support/listening.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { dropJobs } from '../support/postgres/drop-jobs.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { tidegauge } from '../support/tidegauge.ts'
import { fleetScene, startFleet } from './fleet-scene.ts'

describe.skipIf(postgresPlace.kind === 'missing')('a daemon that differs from its fleet', () => {
  const databases = useTestDatabases()

  it('delivers nothing to another service, also when it is alone and the jobs are dropped, until a person says so', async () => {
    const [world, stranger] = [await fleetScene(), await fleetScene()]
    const current = hourAt(systemTime.nowMs())
    const since = hourAfter(current, -3)
    const serviceOf = (name: string) => (name === 'eu-2' ? stranger.service : world.service)
    const names = ['eu-1', 'eu-2', 'eu-3']
    const open = world.hold()
    const fleet = await startFleet(databases, world, since, names, { serviceOf })
    const { configs, env } = fleet
    const [right, wrong, third] = fleet.daemons
    // Any of the three may have been the first.
    await tidegauge(['fleet', 'take', 'service', '--config', configs[0] ?? ''], env)
    await wrong?.logged(/service\.url is not the service of this fleet/)
    world.answer(1)
    await world.until(() => world.sent.size > 0)
    await right?.kill('SIGKILL')
    await third?.kill('SIGKILL')
    await dropJobs(text => databases.server.query(text, [], fleet.name))
    open()
    const due = 'SELECT pg_sleep(0.1), count(*)::int FROM tidegauge.outbox WHERE state = 0'
    while ((await databases.server.query(due, [], fleet.name))[0]?.['count'] === 0);
    const red = await wrong?.status<StatusJson>(({ ready }) => !ready.ok)
    expect(red?.ready.reasons.join()).toContain('service.url is not the service of this fleet')
    const flushed = await tidegauge(['flush', '--config', configs[1] ?? ''], env)
    expect(flushed).toMatchObject({ code: 78, stderr: expect.stringContaining('fleet take service') })
    expect(stranger.sent.size).toBe(0)
    const taken = await tidegauge(['fleet', 'take', 'service', '--config', configs[1] ?? ''], env)
    expect(taken.stdout).toContain('counts for all daemons from now on')
    await stranger.until(() => stranger.sent.size > 0)
    expect(await wrong?.kill('SIGTERM')).toBe(0)
  })

  it('leaves the hours of another definition to the others, and one that changes its own goes on at once', async () => {
    const world = await fleetScene()
    const current = hourAt(systemTime.nowMs())
    const expected = hoursFrom(hourAfter(current, -29), current)
    const other = await answering(async () => ({ body: 7 }))
    const sourceOf = (name: string) => (name === 'eu-2' ? other : world.source)
    world.hold()
    const fleet = await startFleet(databases, world, hourAfter(current, -29), ['eu-1', 'eu-2'], { sourceOf })
    const { configs, env } = fleet
    const [first, second] = fleet.daemons
    await tidegauge(['fleet', 'take', 'collector', 'tides/counted', '--config', configs[0] ?? ''], env)
    await second?.logged(/the definition of tides\/counted here/)
    const seven = () => [...world.sent.values()].filter(values => values.has(7)).length
    const before = seven()
    world.answer(4)
    const counted = () => expected.filter(hour => world.sent.get(hourText(hour))?.has(hourNumber(hour)))
    await world.until(() => counted().length >= 4)
    expect(seven()).toBe(before)
    const named = await second?.status<StatusJson>(({ ready }) => ready.warnings !== undefined)
    expect(named?.fleet?.differences.join()).toContain('eu-2 defines tides/counted otherwise')
    await first?.kill('SIGKILL')
    const listed = await tidegauge(['fleet', 'ls', '--config', configs[1] ?? ''], env)
    expect(listed.stdout).toMatch(/collector\/tides\/counted +\S+ +eu-1 +differs/)
    await tidegauge(['fleet', 'take', 'collector', 'tides/counted', '--config', configs[1] ?? ''], env)
    await world.until(() => expected.every(hour => world.sent.has(hourText(hour))))
    for (const hour of expected) expect(world.sent.get(hourText(hour))?.size).toBe(1)
    // An ordinary change of the only daemon that is left.
    const file = configs[1] ?? ''
    writeFileSync(file, readFileSync(file, 'utf8').replace(`${other}/`, `${other}/changed/`))
    await second?.logged(/the one of this daemon counts now/)
    expect(await second?.kill('SIGTERM')).toBe(0)
  })
})
