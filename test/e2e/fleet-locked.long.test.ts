import { describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAt } from '../../src/model/hour.ts'
import { inTransaction } from '../fleet/support/engines.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { tidegauge } from '../support/tidegauge.ts'
import { untilTrue } from '../support/until-true.ts'
import { fleetScene, startFleet } from './fleet-scene.ts'

describe.skipIf(postgresPlace.kind === 'missing')('a daemon whose leases another session has locked', () => {
  const databases = useTestDatabases()

  it('says that its database is reached and a lock waited for, in its log, too, and goes on after it', async () => {
    const world = await fleetScene()
    const { daemons, configs, env, name } = await startFleet(databases, world, hourAt(systemTime.nowMs()), ['eu-1'])
    const [daemon, config = ''] = [daemons[0], configs[0]]
    if (!daemon) throw new Error('a daemon was started')
    await daemon.logged('this daemon delivers now')
    const answer = async () => (await fetch(`${daemon.url}/readyz`)).text()
    const waits = /is reached, and has not ended a statement in time, as one that waits for a lock \(.*57014\)/
    await inTransaction(databases.server.address('', name), async tx => {
      await tx.query('LOCK TABLE tidegauge.lease IN ACCESS EXCLUSIVE MODE')
      const logged = daemon.logged('fleet: retrying')
      const reasons = await untilTrue(async () => /has not answered in time.*/.exec(await answer())?.[0])
      expect(reasons).not.toMatch(/no connection|cannot be reached|see its log/)
      expect((await logged)['fault']).toMatch(waits)
      const { code, stderr } = await tidegauge(['status', '--config', config], env)
      expect([code, stderr]).toEqual([1, expect.stringMatching(waits)])
      const claim = await untilTrue(async () => /has accepted no claim of this daemon.*/.exec(await answer())?.[0])
      expect(claim).toMatch(waits)
    })
    await daemon.logged('fleet: the database answers again')
    await untilTrue(async () => (await answer()).includes('"ready":true'))
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })
})
