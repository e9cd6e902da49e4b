import { describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAt } from '../../src/model/hour.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { fleetScene, startFleet } from './fleet-scene.ts'

describe.skipIf(postgresPlace.kind === 'missing')('a daemon whose database goes and comes', () => {
  const databases = useTestDatabases()

  it('says that it cannot be reached, whatever it is asked, and that it answers again', async () => {
    const world = await fleetScene()
    const { daemons } = await startFleet(databases, world, hourAt(systemTime.nowMs()), ['eu-1'])
    const [daemon] = daemons
    await daemon?.logged('this daemon delivers now')
    await databases.server.pause()
    await daemon?.logged('fleet: retrying')
    for (const path of ['/', '/status.json', '/history/tides___Level', '/readyz']) {
      const answer = await fetch(`${daemon?.url}${path}`)
      expect({ path, status: answer.status }).toEqual({ path, status: 503 })
      expect(await answer.text()).toMatch(/The database 127\.0\.0\.1:\d+\/\w+ cannot be reached/)
    }
    expect(await (await fetch(`${daemon?.url}/metrics`)).text()).toMatch(/^tidegauge_ready 0$/m)
    await databases.server.start()
    await daemon?.logged('fleet: the database answers again')
    expect(await daemon?.kill('SIGTERM')).toBe(0)
    const faults = daemon?.log.filter(line => line.includes('fleet: retrying')) ?? []
    for (const line of faults) expect(line).toMatch(/the database 127\.0\.0\.1:\d+\/\w+ cannot be reached/)
  })
})
