import { describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourNumber, hoursFrom, hourText } from '../../src/model/hour.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { tidegauge } from '../support/tidegauge.ts'
import { fleetScene, startFleet } from './fleet-scene.ts'

describe.skipIf(postgresPlace.kind === 'missing')('daemons that define a collector otherwise', () => {
  const databases = useTestDatabases()

  it('leave its hours to the others and collect the rest, are named, and a person decides', async () => {
    const world = await fleetScene()
    const current = hourAt(systemTime.nowMs())
    const since = hourAfter(current, -29)
    const expected = hoursFrom(since, current)
    const open = world.hold()
    const own = (name: string) => {
      const unit = name === 'eu-3' ? 'EUR' : 'USD'
      const value = `{ pointer: "", unit: ${unit}, decimals: ${name === 'eu-2' ? 7 : 0} }`
      const options = `{ url: "${world.source}/{hour}", values: { Level: ${value} } }`
      return `{ id: coins, name: Coins, collectors: [{ use: http-json, since: "${hourText(since)}", options: ${options} }] }`
    }
    const { daemons, configs, env } = await startFleet(databases, world, since, ['eu-1', 'eu-2', 'eu-3'], { own })
    const run = (place: number, ...args: string[]) => tidegauge([...args, '--config', configs[place] ?? ''], env)
    const differs = (place: number) => daemons[place]?.logged(/^the definition of coins\/http-json here/)
    // Any of the three may have been the first.
    await run(0, 'fleet', 'take', 'collector', 'coins/http-json')
    await Promise.all([differs(1), differs(2)])
    open()
    const [tides, coins] = ['tides', 'coins'].map(id => expected.map(hour => `${id}___Level ${hourText(hour)}`))
    const all = [...(tides ?? []), ...(coins ?? [])]
    await world.until(() => all.every(key => world.values.has(key)))
    const values = expected.map(hour => [hourNumber(hour)])
    expect(tides?.map(key => world.values.get(key))).toEqual(values)
    expect(coins?.map(key => world.values.get(key))).toEqual(values)
    const named = ['eu-2', 'eu-3'].map(name => `${name} defines coins/http-json otherwise`)
    const says = (text: string) => named.every(sentence => text.includes(sentence))
    for (const daemon of daemons) await daemon.status<StatusJson>(({ ready }) => says(`${ready.warnings}`))
    for (const args of [['status'], ['doctor'], ['fleet', 'ls']]) {
      expect((await run(0, ...args)).stdout).toSatisfy(says)
    }
    await run(1, 'fleet', 'take', 'collector', 'coins/http-json')
    await differs(0)
    const [first, second, third] = daemons
    await first?.status<StatusJson>(({ ready }) => !`${ready.warnings}`.includes('eu-2 defines'))
    // The two others stand back: no hour is due before long, and no daemon will collect it then.
    await second?.kill('SIGKILL')
    const left = 'No living daemon runs coins/http-json, which eu-2 ran until it died'
    await first?.status<StatusJson>(({ ready }) => `${ready.warnings}`.includes(left))
    for (const args of [['status'], ['doctor'], ['fleet', 'ls']]) expect((await run(0, ...args)).stdout).toContain(left)
    for (const daemon of [first, third]) expect(await daemon?.kill('SIGTERM')).toBe(0)
  })
})
