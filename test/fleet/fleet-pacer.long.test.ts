import { describe, expect, it, onTestFinished } from 'vitest'
import { Gate, ServiceClock } from '../../src/delivery/gate.ts'
import { systemTime } from '../../src/edge/time.ts'
import { FleetPacer } from '../../src/fleet/fleet-pacer.ts'
import { roleJob, roleQueue } from '../../src/fleet/job-engine.ts'
import { RoleClaims } from '../../src/fleet/roles.ts'
import { PostgresFleetStore } from '../../src/outbox/postgres/fleet-store.ts'
import { openPostgresOutbox } from '../../src/outbox/postgres/postgres-outbox.ts'
import { Redactor } from '../../src/telemetry/redactor.ts'
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
    await one.pacer.slot(signal)
    await one.pacer.slot(signal)
    await one.claims.stop()
    const other = await deliverer(address, 'other')
    await other.begun
    await other.pacer.slot(signal)
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
    const turn = pacer.slot(stopping.signal)
    await ended
    stopping.abort(new Error('stopped'))
    await expect(turn).rejects.toThrow('stopped')
    expect(waits).toEqual([])
  })

  /** The gate of a daemon to what its protocols make of a destination. @param destination the name of its row */
  async function gateOf(address: string, destination: string, key: string) {
    const outbox = await openPostgresOutbox(addressOf(address))
    onTestFinished(() => outbox.close())
    const pacer = new FleetPacer({
      store: new PostgresFleetStore(outbox.database),
      role: { owns: async () => true, isOwned: true, lost: () => {} },
      destination: () => `key/${key}`,
      perSecond: 1_000,
      time: systemTime,
    })
    const gate = new Gate({
      ...{ outbox: outbox.delivery, pacer, time: systemTime, redactor: new Redactor(), clock: new ServiceClock() },
      destination: { name: destination, readKey: () => key },
      client: { validateKey: async () => ({ kind: 'unanswered', reason: 'it is not asked' }) },
    })
    await gate.occasion('due')
    return { gate, outbox, mayPush: async () => (await gate.pushSlot(key, new AbortController().signal)) ?? 'now' }
  }

  it('lets no daemon push before the retry-after that another one has met with the same key', async () => {
    const address = await databases.empty()
    const [one, other, elsewhere] = await Promise.all([
      gateOf(address, 'tides', 'a'),
      gateOf(address, 'host-2', 'a'),
      gateOf(address, 'vaults', 'b'),
    ])
    expect(await other.mayPush()).toBe('now')
    const untilMs = systemTime.nowMs() + 1_800_000
    await one.gate.pushed({ kind: 'transient', reason: '429', status: 429, notBeforeMs: untilMs }, 'a')
    const hold = { why: 'retry-after', untilMs }
    expect(await other.mayPush()).toEqual(hold)
    expect(await elsewhere.mayPush(), 'another key').toBe('now')
    const afterRestart = await gateOf(address, 'host-2', 'a')
    expect(afterRestart.gate.hold('due'), 'it is stored, for status and the next process').toEqual(hold)
    await other.outbox.operators.requestFlush()
    expect(await other.gate.occasion('due'), 'a person wants a flush').toBe('asked')
    expect(await other.mayPush()).toBe('now')
    expect(await (await gateOf(address, 'a-third', 'a')).mayPush()).toBe('now')
  })
})
