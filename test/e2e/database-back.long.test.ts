import { readFileSync, writeFileSync } from 'node:fs'
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
    const status: unknown = await (await fetch(`${daemon?.url}/status.json`)).json()
    expect(status).toMatchObject({ ready: { ok: false, causes: expect.arrayContaining(['outbox-unread']) } })
    expect(await (await fetch(`${daemon?.url}/metrics`)).text()).toMatch(/^tidegauge_ready 0$/m)
    await databases.server.start()
    await daemon?.logged('fleet: the database answers again')
    expect(await daemon?.kill('SIGTERM')).toBe(0)
    const faults = daemon?.log.filter(line => line.includes('fleet: retrying')) ?? []
    for (const line of faults) expect(line).toMatch(/the database 127\.0\.0\.1:\d+\/\w+ cannot be reached/)
  })

  it('goes on as it was when a configuration is saved meanwhile, which is in force once the database answers', async () => {
    const world = await fleetScene()
    const { daemons, configs } = await startFleet(databases, world, hourAt(systemTime.nowMs()), ['eu-1'])
    const [daemon, config = ''] = [daemons[0], configs[0]]
    await daemon?.logged('this daemon delivers now')
    await databases.server.pause()
    const rename = (from: string, to: string) =>
      writeFileSync(config, readFileSync(config, 'utf8').replace(`name: ${from}`, `name: ${to}`))
    rename('Tides', 'Ebb')
    const waits = 'the new configuration waits for its database, the old one stays in force'
    const line = await daemon?.logged(waits)
    expect(line?.['mistakes']).toMatch(/^the database 127\.0\.0\.1:\d+\/\w+ cannot be reached/)
    rename('Ebb', 'Flow')
    if (daemon) process.kill(daemon.pid, 'SIGHUP')
    for (const path of ['/readyz', '/']) {
      const answer = await fetch(`${daemon?.url}${path}`)
      expect({ path, status: answer.status }).toEqual({ path, status: 503 })
      expect(await answer.text()).toMatch(/has waited for its database since .*: the database .* cannot be reached/)
    }
    expect((await fetch(`${daemon?.url}/livez`)).status).toBe(200)
    expect(daemon?.log.filter(line => line.includes('reloading'))).toEqual([])
    await databases.server.start()
    await daemon?.logged('the new configuration is in force')
    // It listens at another port now.
    const page = (await daemon?.logged('running', 2))?.['page']
    expect(await (await fetch(`${page}status.json`)).json()).toMatchObject({ protocols: [{ name: 'Flow' }] })
    expect(await daemon?.kill('SIGTERM')).toBe(0)
  })
})
