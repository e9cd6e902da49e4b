import { describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { startDaemon, tidegauge } from '../support/tidegauge.ts'
import { fleetScene, startFleet } from './fleet-scene.ts'

describe.skipIf(postgresPlace.kind === 'missing')('a machine of a fleet that was not seen for a day', () => {
  const databases = useTestDatabases()

  it('is forgotten: its hours are gaps with that reason, its jobs are gone, and host has another machine', async () => {
    const world = await fleetScene()
    const since = hourAfter(hourAt(systemTime.nowMs()), -2)
    const open = world.hold()
    const machineOf = (machine: string) =>
      `{ use: ./counted.ts, since: "${hourText(since)}", machine: ${machine}, options: { url: "${world.source}/" } }`
    const protocol = (id: string, collector: string) => `{ id: ${id}, name: ${id}, collectors: [${collector}] }`
    const shared = [protocol('box', '{ use: host }'), protocol('never', machineOf('pod-3'))]
    const own = (name: string) =>
      [...shared, ...(name === 'pod-1' ? [protocol('only', machineOf('pod-1'))] : [])].join('\n  - ')
    const { daemons, configs, env, name } = await startFleet(databases, world, since, ['pod-1', 'pod-2'], { own })
    const [gone, other] = daemons
    const count = async (from: string) =>
      (await databases.server.query(`SELECT pg_sleep(0.1), count(*)::int FROM ${from}`, [], name))[0]?.['count']
    const jobsOf = (machine: string) => `tidegauge_jobs.job WHERE name = 'collect/machine/${machine}'`
    const jobs = jobsOf('pod-1')
    const ofBox = `tidegauge.collector JOIN tidegauge.collection ON collector = id WHERE name = 'box/host'`
    while ((await count(`${ofBox} AND state = 1`)) === 0 || (await count(jobs)) === 0);
    await gone?.kill('SIGKILL')
    expect(await other?.kill('SIGTERM')).toBe(0)
    const change = (text: string) => databases.server.query(text, [], name)
    await change(`UPDATE tidegauge.lease SET until = now() - interval '25 hours' WHERE name = 'daemon/pod-1'`)
    await change(`UPDATE tidegauge.collector SET lane = 'machine/pod-1' WHERE name = 'box/host'`)
    await change(
      `UPDATE tidegauge.collection SET state = 0 FROM tidegauge.collector WHERE collector = id AND name = 'box/host'`,
    )
    open()

    const daemon = await startDaemon(configs[1] ?? '', env)
    while ((await count(`${ofBox} AND state = 1 AND lane = 'machine/pod-2'`)) === 0);
    while ((await count(jobs)) !== 0);
    const run = (...args: string[]) => tidegauge([...args, '--config', configs[0] ?? ''], env)
    const { gaps, notCollectedYet } = JSON.parse((await run('gaps', '--json')).stdout)
    const reason = 'the machine pod-1 was not seen for a day'
    expect(gaps).toMatchObject([{ collector: 'only/counted', hours: 3, reason: expect.stringContaining(reason) }])
    // Hours of others may be under way still.
    expect(notCollectedYet).toContainEqual(expect.objectContaining({ collector: 'never/counted', hours: 3 }))
    const { stdout } = await run('status')
    expect(stdout).not.toContain('No living daemon works the lane machine/pod-1')
    // No daemon can claim a job of a machine that is not there.
    expect(await count(jobsOf('pod-3'))).toBe(0)
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })
})
