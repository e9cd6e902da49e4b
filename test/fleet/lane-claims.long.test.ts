import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { laneJob, laneQueue } from '../../src/fleet/job-engine.ts'
import { claimedHoursMax, LaneClaims } from '../../src/fleet/lane-claims.ts'
import { patienceMs, restMs, trustMs } from '../../src/fleet/limits.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { anHour } from '../support/metrics.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { engineOn } from './support/engines.ts'

const lane = 'ethereum'
const past = Array.from({ length: 10 }, (_, back) => hourAfter(anHour, -1 - back))
const jobsOf = (hours: readonly (typeof anHour)[]) => hours.map(hour => laneJob({ lane, hour }))

describe.skipIf(postgresPlace.kind === 'missing')('the claims of a daemon', () => {
  const databases = useTestDatabases()

  /** A daemon, whose steady clock runs ahead as far as a test lets it. */
  function daemonOn(address: string, lanes: readonly string[] = [lane]) {
    const engine = engineOn(address)
    let aheadMs = 0
    const time = { ...systemTime, steadyMs: () => systemTime.steadyMs() + aheadMs }
    const claims = new LaneClaims({
      engine,
      lanes: () => lanes,
      withDue: async () => lanes,
      hasOthers: () => true,
      time,
      failed: () => {},
    })
    onTestFinished(() => claims.stop())
    return {
      engine,
      claims,
      hours: () => claims.trusted.map(({ hour }) => hour),
      passes(ms: number) {
        aheadMs += ms
      },
    }
  }

  it('are the current hour and a few past ones, the newest first; others have the rest', async () => {
    const address = await databases.empty()
    const [one, other] = [daemonOn(address), daemonOn(address)]
    await one.engine.insert(laneQueue(lane), jobsOf([anHour, ...past]))
    await one.claims.claimFree(anHour, [])
    one.passes(1_000)
    await one.claims.claimFree(anHour, [])
    for (let looks = 0; looks < 2; looks += 1) {
      await other.claims.claimFree(anHour, [])
      other.passes(1_000)
    }
    expect(one.hours()).toEqual([anHour, ...past.slice(0, claimedHoursMax)])
    expect(other.hours()).toEqual(past.slice(claimedHoursMax, 2 * claimedHoursMax))
  })

  it('have room for the current hour whatever is under way', async () => {
    const { engine, claims, hours, passes } = daemonOn(await databases.empty())
    await engine.insert(laneQueue(lane), jobsOf(past))
    await claims.claimFree(anHour, [])
    const before = hours()
    await engine.insert(laneQueue(lane), jobsOf([anHour]))
    await claims.claimFree(anHour, [])
    expect(hours(), 'a lane is asked about once a second').toEqual(before)
    passes(1_000)
    await claims.claimFree(anHour, [])
    expect(hours()).toEqual([anHour, ...before])
  })

  it('leave room for past hours under way whose claims were lost', async () => {
    const { engine, claims, hours, passes } = daemonOn(await databases.empty())
    await engine.insert(laneQueue(lane), jobsOf(past))
    const lost = Array.from({ length: claimedHoursMax }, (_, back) => ({ lane, hour: hourAfter(anHour, -20 - back) }))
    await claims.claimFree(anHour, lost)
    expect(hours()).toEqual([])
    const elsewhere = lost.slice(2).map(({ hour }) => ({ lane: 'base', hour }))
    passes(1_000)
    await claims.claimFree(anHour, [...lost.slice(0, 2), ...elsewhere, { lane, hour: anHour }])
    expect(hours()).toEqual(past.slice(0, claimedHoursMax - 2))
    passes(1_000)
    await claims.claimFree(anHour, claims.trusted)
    expect(hours(), 'what is under way is counted once').toEqual(past.slice(0, claimedHoursMax))
  })

  it('are of the lanes that it works alone', async () => {
    const address = await databases.empty()
    const [one, other] = [daemonOn(address, ['web']), daemonOn(address)]
    await one.engine.insert(laneQueue(lane), jobsOf([anHour]))
    await one.claims.claimFree(anHour, [])
    await other.claims.claimFree(anHour, [])
    expect([one.hours(), other.hours()]).toEqual([[], [anHour]])
  })

  it('are handed over when it stops', async () => {
    const address = await databases.empty()
    const [one, other] = [daemonOn(address), daemonOn(address)]
    await one.engine.insert(laneQueue(lane), jobsOf([anHour, ...past.slice(0, 2)]))
    await one.claims.claimFree(anHour, [])
    await one.claims.stop()
    await other.claims.claimFree(anHour, [])
    expect([one.hours(), other.hours()]).toEqual([[], [anHour, ...past.slice(0, 2)]])
  })

  it('are not trusted after a pause, before they were touched', async () => {
    const { engine, claims, hours, passes } = daemonOn(await databases.empty())
    await engine.insert(laneQueue(lane), jobsOf([anHour]))
    await claims.claimFree(anHour, [])
    passes(trustMs)
    expect(hours()).toEqual([])
    expect(claims.find({ lane, hour: anHour })).toBeDefined()
  })

  it('end when the job is dropped, which can be made again', async () => {
    const { engine, claims, hours } = daemonOn(await databases.empty())
    await engine.insert(laneQueue(lane), jobsOf([anHour]))
    await claims.claimFree(anHour, [])
    const [claimed] = claims.trusted
    if (claimed) await claims.drop(claimed)
    expect(hours()).toEqual([])
    await engine.insert(laneQueue(lane), jobsOf([anHour]))
    await claims.claimFree(anHour, [])
    expect(hours()).toEqual([anHour])
  })

  it('are left to another daemon where they have failed for long, which is asked for free hours first', async () => {
    const address = await databases.empty()
    const [one, other] = [daemonOn(address), daemonOn(address)]
    await one.engine.insert(laneQueue(lane), jobsOf([anHour]))
    await one.claims.claimFree(anHour, [])
    const claimed = one.claims.find({ lane, hour: anHour })
    if (!claimed) throw new Error('it was claimed')
    one.claims.noteFailure(claimed)
    expect(one.claims.isForAnother(claimed)).toBe(false)
    one.passes(patienceMs)
    expect(one.claims.isForAnother(claimed)).toBe(true)
    await one.claims.release(claimed)
    one.passes(restMs - 1_000)
    await one.claims.claimFree(anHour, [])
    expect(one.claims.find({ lane, hour: anHour })).toBeUndefined()
    await other.claims.claimFree(anHour, [])
    expect(other.hours()).toEqual([anHour])
  })
})
