import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { FleetPacer } from '../../src/fleet/fleet-pacer.ts'
import { roleJob, roleQueue } from '../../src/fleet/jobs.ts'
import { RoleClaims } from '../../src/fleet/role-claims.ts'
import { openPostgresOutbox } from '../../src/outbox/postgres/open-outbox.ts'
import { PostgresFleetStore } from '../../src/outbox/postgres/stores/fleet-store.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { addressOf } from '../support/postgres/place.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { engineOn, inTransaction } from './support/engines.ts'

const role = 'deliver/service'

describe.skipIf(postgresPlace.kind === 'missing')('the pace of a fleet', () => {
  const databases = useTestDatabases()

  /** A daemon that has the role; the waits of its pacer are written down instead. */
  async function deliverer(address: string, name: string) {
    const engine = engineOn(address)
    const outbox = await openPostgresOutbox(addressOf(address))
    onTestFinished(() => outbox.close())
    const waits: number[] = []
    const begun = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const work = {
      begin: async () => {
        begun.resolve()
        return async () => ended.resolve()
      },
    }
    const claims = new RoleClaims({ engine, name, time: systemTime, failed: () => {} })
    const claim = claims.claim({ roles: [role], work })
    onTestFinished(() => claims.stop())
    const pacer = new FleetPacer({
      store: new PostgresFleetStore(outbox.database),
      role: claim,
      destination: () => 'service',
      perSecond: 0.05,
      time: { sleep: async ms => void waits.push(ms) },
    })
    return { engine, claims, pacer, waits, begun: begun.promise, ended: ended.promise }
  }

  it('goes on where the daemon before was, also when that one was faster to start', async () => {
    const address = await databases.empty()
    const { signal } = new AbortController()
    const one = await deliverer(address, 'one')
    await one.begun
    await one.pacer.turn(signal)
    await one.pacer.turn(signal)
    await one.claims.stop()
    const other = await deliverer(address, 'other')
    await other.begun
    await other.pacer.turn(signal)
    expect(one.waits).toHaveLength(1)
    expect(one.waits[0]).toBeGreaterThan(10_000)
    expect(other.waits[0], 'two turns were given before').toBeGreaterThan(25_000)
  })

  it('gives no turn to a daemon whose role another one has, and ends its work', async () => {
    const address = await databases.empty()
    const { engine, pacer, waits, begun, ended } = await deliverer(address, 'one')
    await begun
    const attempt = { id: roleJob(role).id, retryCount: 0, madeAtMs: 0 }
    await inTransaction(address, tx => engine.complete(roleQueue, attempt, tx))
    const stopping = new AbortController()
    const turn = pacer.turn(stopping.signal)
    await ended
    stopping.abort(new Error('stopped'))
    await expect(turn).rejects.toThrow('stopped')
    expect(waits).toEqual([])
  })
})
