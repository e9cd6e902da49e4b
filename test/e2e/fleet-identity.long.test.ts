import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt } from '../../src/model/hour.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { dropJobs } from '../support/postgres/drop-jobs.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { receiver } from '../support/receiver.ts'
import { tidegauge } from '../support/tidegauge.ts'
import { fleetScene, startFleet } from './fleet-scene.ts'

describe.skipIf(postgresPlace.kind === 'missing')('a daemon that differs from its fleet', () => {
  const databases = useTestDatabases()

  it('delivers nothing to another service, also when it is alone and the jobs are dropped, until a person says so', async () => {
    const [world, stranger, alerts] = [await fleetScene(), await fleetScene(), await receiver()]
    /** Resolves with the message that the daemon differs, or does no more. */
    const message = async (state: 'begin' | 'over') => {
      const messages = () => alerts.posts.map(({ body }) => JSON.parse(body) as Record<string, string>)
      const isIt = (each: Record<string, string>) => each['state'] === state && each['what']?.startsWith('eu-2 differs')
      while (!messages().some(isIt)) await alerts.until(alerts.posts.length + 1)
      return messages().find(isIt)
    }
    const current = hourAt(systemTime.nowMs())
    const since = hourAfter(current, -3)
    const serviceOf = (name: string) => (name === 'eu-2' ? stranger.service : world.service)
    const names = ['eu-1', 'eu-2', 'eu-3']
    const open = world.hold()
    const fleet = await startFleet(databases, world, since, names, { serviceOf, alertUrl: alerts.url })
    const { configs, env } = fleet
    const [right, wrong, third] = fleet.daemons
    // Any of the three may have been the first.
    await tidegauge(['fleet', 'take', 'service', '--config', configs[0] ?? ''], env)
    await wrong?.logged(/service\.url is not the service of this fleet/)
    world.answerHour(since)
    await world.until(() => world.sent.size > 0)
    await right?.kill('SIGKILL')
    await third?.kill('SIGKILL')
    await dropJobs(text => databases.server.query(text, [], fleet.name))
    open()
    const due = 'SELECT pg_sleep(0.1), count(*)::int FROM tidegauge.outbox WHERE state = 0'
    while ((await databases.server.query(due, [], fleet.name))[0]?.['count'] === 0);
    const red = await wrong?.status<StatusJson>(({ ready }) => !ready.ok)
    expect(red?.ready.reasons.join()).toContain('service.url is not the service of this fleet')
    const exposed = async () => (await fetch(`${wrong?.url}/metrics`)).text()
    const shows = [
      'differences{kind="service"} 1$',
      'differences{kind="keys"} 0$',
      'daemon_up{daemon="eu-2"} 1',
      'roles{daemon="eu-2",role="deliver"} 0',
    ]
    const metrics = await exposed()
    for (const sample of shows) expect(metrics).toMatch(new RegExp(`^tidegauge_fleet_${sample}`, 'm'))
    expect(await message('begin')).toMatchObject({
      trouble: 'fleet-differs',
      why: expect.stringContaining('service.url'),
    })
    for (const command of ['status', 'doctor']) {
      const result = await tidegauge([command, '--config', configs[1] ?? ''], env)
      const named = { code: 1, stdout: expect.stringContaining('service.url is not the service of this fleet') }
      expect(result, command).toMatchObject(named)
    }
    const asking = `${configs[1]}.asking.yaml`
    writeFileSync(asking, readFileSync(configs[1] ?? '', 'utf8').replace('127.0.0.1:0', new URL(wrong?.url ?? '').host))
    const findings = (await tidegauge(['doctor', '--config', asking], env)).stdout
    const line = /^. .*service\.url is not the service of this fleet \(/gm
    expect(findings.match(line)).toEqual([expect.stringMatching(/^✖ fleet: /)])
    for (const words of [['flush'], ['verify'], ['verify', '--repair']]) {
      const refused = await tidegauge([...words, '--config', configs[1] ?? ''], env)
      expect(refused, words.join()).toMatchObject({ code: 78, stderr: expect.stringContaining('fleet take service') })
    }
    expect(stranger.sent.size).toBe(0)
    const taken = await tidegauge(['fleet', 'take', 'service', '--config', configs[1] ?? ''], env)
    expect(taken.stdout).toContain('counts for all daemons from now on')
    await stranger.until(() => stranger.sent.size > 0)
    expect(await exposed()).toMatch(/^tidegauge_fleet_differences\{kind="service"\} 0$/m)
    await message('over')
    expect(await wrong?.kill('SIGTERM')).toBe(0)
  })
})
