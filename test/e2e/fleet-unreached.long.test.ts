import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourNumber } from '../../src/model/hour.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { temporaryFolder } from '../support/folder.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { fleetScene, startFleet, wideProtocol } from './fleet-scene.ts'

describe.skipIf(postgresPlace.kind === 'missing')('a daemon of a fleet that cannot deliver', () => {
  const databases = useTestDatabases()

  it('lets another one deliver, and is named by all, whatever the cause', async () => {
    const world = await fleetScene()
    const since = hourAfter(hourAt(systemTime.nowMs()), -479)
    const names = ['eu-1', 'eu-2', 'eu-3']
    const folder = temporaryFolder()
    const fileOf = (name: string) => join(folder, name)
    for (const name of names) writeFileSync(fileOf(name), `key-of-${name}`)
    const keyOf = (name: string) => `{ file: "${fileOf(name)}" }`
    // There is something to deliver for minutes.
    const parts = { keyOf, own: () => wideProtocol('wide', world, since), delivery: '{ pace: 1 }' }
    const { daemons } = await startFleet(databases, world, since, names, parts)
    const deliverer = () => names.find(name => world.lastKey === `key-of-${name}`)
    await world.until(() => deliverer() !== undefined)
    const troubles: readonly [reason: RegExp, begin: (name: string) => unknown][] = [
      [/the service does not answer/, name => world.treat(`key-of-${name}`, 'break off')],
      [/the service refuses its key \(401\)/, name => world.treat(`key-of-${name}`, 'refuse the key')],
      // A flush that is under way has read the key.
      [/the secret's file does not exist/, name => [rmSync(fileOf(name)), world.treat(`key-of-${name}`, 'break off')]],
      [/the service does not answer/, name => world.treat(`key-of-${name}`, 'answer nothing')],
    ]
    const namedBy = async (failing: string, reason: RegExp, isNamed: boolean) => {
      const isSo = (text: string) =>
        text.includes(`${failing} does not get through to the service`) && reason.test(text)
      for (const daemon of daemons)
        await daemon.status<StatusJson>(({ ready }) => isSo(`${ready.warnings}`) === isNamed)
    }
    for (const [reason, begin] of troubles) {
      const failing = deliverer() ?? ''
      begin(failing)
      await world.until(() => deliverer() !== failing)
      await namedBy(failing, reason, true)
      world.treat(`key-of-${failing}`)
      writeFileSync(fileOf(failing), `key-of-${failing}`)
      // That a key which was known, and could not push, may push again shows in a push alone.
      if (reason.test('the service refuses its key (401)')) continue
      await namedBy(failing, reason, false)
    }
    // Its way is back before it has given up: no question of it fails.
    const failing = deliverer() ?? ''
    world.treat(`key-of-${failing}`, 'answer nothing')
    await namedBy(failing, /the service does not answer/, true)
    world.treat(`key-of-${failing}`)
    await world.until(() => deliverer() !== failing)
    await namedBy(failing, /the service does not answer/, false)
    for (const [key, values] of world.values) expect([key, values]).toEqual([key, [hourNumber(hourOf(key))]])
    for (const daemon of daemons) expect(await daemon.kill('SIGTERM')).toBe(0)
  })
})

/** The hour of a key of `FleetScene.values`. */
function hourOf(key: string) {
  return hourAt(Date.parse(key.split(' ')[1] ?? ''))
}
