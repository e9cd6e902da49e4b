import { describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { type Hour, hourAfter, hourAt, hourNumber, hourText } from '../../src/model/hour.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { relayTo } from '../support/relay.ts'
import { type FleetScene, fleetScene, startFleet } from './fleet-scene.ts'

/** Time from a trouble until an hour that is due then is delivered: half a minute, and more on a busy machine. */
const recoveredMsMax = 120_000

/** Time that a stop may take: seconds, and more on a busy machine. */
const stopMsMax = 30_000

describe.skipIf(postgresPlace.kind === 'missing')('a fleet whose ways to the database forget connections', () => {
  const databases = useTestDatabases()

  /** Daemons of a fleet, each with a way of its own to the database. */
  async function start(world: FleetScene, names: readonly string[]) {
    const relays = await Promise.all(names.map(() => relayTo(databases.server)))
    const current = hourAt(systemTime.nowMs())
    const way = (address: string, place: number) => address.replace(/:\d+\//, `:${relays[place]?.port}/`)
    const fleet = await startFleet(databases, world, current, names, { way })
    await world.until(() => world.sent.has(hourText(current)))
    /** Makes an hour due, and waits until its value is at the service. @returns milliseconds that it took */
    const deliver = async (hour: Hour) => {
      const beganMs = systemTime.steadyMs()
      await databases.server.query(
        'INSERT INTO tidegauge.collection (collector, hour) SELECT id, $1 FROM tidegauge.collector',
        [hourNumber(hour)],
        fleet.name,
      )
      await world.until(() => world.sent.has(hourText(hour)))
      return systemTime.steadyMs() - beganMs
    }
    return { ...fleet, relays, current, deliver }
  }

  it('collects and delivers soon after each of them, and stops at once where the database answers nothing', async () => {
    const world = await fleetScene()
    const { daemons, relays, current, deliver } = await start(world, ['eu-1', 'eu-2', 'eu-3'])
    const troubles = [...relays.map(relay => [relay]), relays]
    const took: number[] = []
    for (const [place, trouble] of troubles.entries()) {
      for (const relay of trouble) relay.forget()
      took.push(await deliver(hourAfter(current, -1 - place)))
    }
    expect(Math.max(...took), took.join()).toBeLessThan(recoveredMsMax)
    for (const relay of relays) relay.silence()
    for (const [place, daemon] of daemons.entries()) {
      const answer = await fetch(`${daemon.url}/readyz`)
      expect(answer.status).toBe(503)
      expect(await answer.text()).toContain(`The database 127.0.0.1:${relays[place]?.port}/`)
    }
    const stops: number[] = []
    for (const daemon of daemons) {
      const beganMs = systemTime.steadyMs()
      expect(await daemon.kill('SIGTERM')).toBe(0)
      stops.push(systemTime.steadyMs() - beganMs)
    }
    expect(Math.max(...stops), stops.join()).toBeLessThan(stopMsMax)
  })
})
