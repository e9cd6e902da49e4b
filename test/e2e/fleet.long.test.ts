import { describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { claimedHoursMax } from '../../src/fleet/lane-claims.ts'
import { hourAfter, hourAt, hourNumber, hoursFrom, hourText } from '../../src/model/hour.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { dropJobs } from '../support/postgres/drop-jobs.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { type RunningDaemon, startDaemon } from '../support/tidegauge.ts'
import { fleetScene, startFleet, wideProtocol } from './fleet-scene.ts'

describe.skipIf(postgresPlace.kind === 'missing')('a fleet', () => {
  const databases = useTestDatabases()

  /** The daemon that delivers, and the others. */
  async function delivererOf(daemons: readonly RunningDaemon[]) {
    const deliverer = await Promise.race(
      daemons.map(daemon => daemon.logged('this daemon delivers now').then(() => daemon)),
    )
    return { deliverer, others: daemons.filter(daemon => daemon !== deliverer) }
  }

  it('collects a backlog once, although a daemon is killed and the jobs are dropped, and delivers all of it', async () => {
    const world = await fleetScene()
    const current = hourAt(systemTime.nowMs())
    const expected = hoursFrom(hourAfter(current, -47), current)
    const { daemons, name } = await startFleet(databases, world, hourAfter(current, -47), ['eu-1', 'eu-2', 'eu-3'])
    const open = world.hold()
    await world.until(() => world.reads.length >= 2 * claimedHoursMax)
    const { deliverer, others } = await delivererOf(daemons)
    await deliverer.kill('SIGKILL')
    await dropJobs(text => databases.server.query(text, [], name))
    open()
    // Another hour may begin meanwhile.
    await world.until(() => expected.every(hour => world.sent.has(hourText(hour))))
    await Promise.race(others.map(daemon => daemon.logged('this daemon delivers now')))
    for (const hour of expected) expect([...(world.sent.get(hourText(hour)) ?? [])]).toEqual([hourNumber(hour)])
    // Those under way in any daemon when the jobs were dropped are read again.
    const again = world.reads.filter(hour => hour <= current).length - expected.length
    expect(again).toBeLessThanOrEqual(3 * (claimedHoursMax + 1))
    for (const daemon of others) expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('stores and sends nothing of a daemon that wakes after another one has taken over', async () => {
    const world = await fleetScene()
    const current = hourAt(systemTime.nowMs())
    const open = world.hold()
    const { daemons } = await startFleet(databases, world, current, ['eu-1', 'eu-2'])
    await world.until(() => world.reads.length > 0)
    const isHolder = (daemon: RunningDaemon) => daemon.log.some(line => line.includes('this daemon delivers now'))
    await delivererOf(daemons)
    const [first, second] = daemons.toSorted((one, other) => Number(isHolder(other)) - Number(isHolder(one)))
    if (!first || !second) throw new Error('two daemons were started')
    process.kill(first.pid, 'SIGSTOP')
    await second.logged('this daemon delivers now')
    open()
    // Another hour may begin meanwhile.
    await world.until(() => world.sent.has(hourText(current)))
    process.kill(first.pid, 'SIGCONT')
    await first.logged('this daemon does not deliver any more')
    expect([...(world.sent.get(hourText(current)) ?? [])]).toEqual([hourNumber(current)])
    expect(await second.kill('SIGTERM')).toBe(0)
    await first.logged('this daemon delivers now', 2)
    expect(await first.kill('SIGTERM')).toBe(0)
  })

  it('delivers what one daemon alone knows, whichever was there first, and goes on after that one', async () => {
    const world = await fleetScene()
    const current = hourAt(systemTime.nowMs())
    const names = ['eu-1', 'eu-2']
    const { daemons } = await startFleet(databases, world, current, names, { own: hostProtocol })
    const isSent = (name: string) => [...world.values.keys()].some(id => id.startsWith(`own-${name}`))
    await world.until(() => world.sent.has(hourText(current)) && names.every(isSent))
    const delivers = async (place: number, what: string) => {
      for (let time = 1; ; time += 1) {
        const line = await daemons[place]?.logged('this daemon delivers now', time)
        if (`${line?.['protocols']}` === what) return
      }
    }
    // One of them delivers what both know, each its own, and the one that is left both.
    const has = async (place: number) => delivers(place, `tides,own-${names[place]}`).then(() => place)
    const first = await Promise.race([has(0), has(1)])
    await delivers(1 - first, `own-${names[1 - first]}`)
    expect(await daemons[first]?.kill('SIGTERM')).toBe(0)
    await has(1 - first)
    const other = daemons[1 - first]
    expect(await other?.kill('SIGTERM')).toBe(0)
  })

  it('keeps one pace of a key, whichever daemons deliver with it', async () => {
    const world = await fleetScene()
    const current = hourAt(systemTime.nowMs())
    const since = hourAfter(current, -9)
    const [names, pace, together] = [['eu-1', 'eu-2'], 2, 12]
    const own = (name: string) => wideProtocol(`own-${name}`, world, since)
    const delivery = `{ pace: ${pace}, timeout: 10m }`
    const answer = world.holdPushes()
    const { daemons, name } = await startFleet(databases, world, current, names, { own, delivery })
    await Promise.all(daemons.map(daemon => daemon.logged('this daemon delivers now')))
    const due = 'SELECT pg_sleep(0.1), count(*)::int FROM tidegauge.collection WHERE state = 0'
    while ((await databases.server.query(due, [], name))[0]?.['count'] !== 0);
    answer()
    await world.until(() => world.pushedAtMs.length >= 2 * hoursFrom(since, current).length)
    const spansMs = world.pushedAtMs.flatMap((atMs, place) => atMs - (world.pushedAtMs[place - together] ?? 0))
    // Each of them alone is as fast as the pace.
    const shortestMs = Math.min(...spansMs.slice(together))
    expect(shortestMs / 1_000).toBeGreaterThan((0.75 * together) / pace)
    for (const daemon of daemons) expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('keeps why a daemon waits when another one joins that does not know its protocol', async () => {
    const world = await fleetScene()
    const current = hourAt(systemTime.nowMs())
    const fleet = await startFleet(databases, world, current, ['eu-1', 'eu-2'], { own: hostProtocol })
    const [first, second] = fleet.daemons
    // The first one delivers what both know, so it has written what it has.
    expect(await second?.kill('SIGTERM')).toBe(0)
    await first?.status<StatusJson>(({ fleet: seen }) => seen?.daemons[0]?.delivers.includes('own-eu-1') === true)
    // It writes nothing more.
    process.kill(first?.pid ?? 0, 'SIGSTOP')
    const query = (text: string) => databases.server.query(text, [], fleet.name)
    await query(`INSERT INTO tidegauge.destination (name, waiting) VALUES ('own-eu-1', 'it waits'), ('gone', 'it is gone')
      ON CONFLICT (name) DO UPDATE SET waiting = excluded.waiting`)
    const joined = await startDaemon(fleet.configs[1] ?? '', fleet.env)
    const waiting = 'SELECT name FROM tidegauge.destination WHERE waiting IS NOT NULL ORDER BY name'
    await joined.logged('this daemon is one of a fleet')
    expect(await query(waiting)).toEqual([{ name: 'own-eu-1' }])
    expect(await joined.kill('SIGTERM')).toBe(0)
  })
})

/** A protocol that one daemon alone knows. */
function hostProtocol(name: string): string {
  return `{ id: own-${name}, name: Own, collectors: [{ use: host }] }`
}
