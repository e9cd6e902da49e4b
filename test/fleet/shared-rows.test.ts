import { describe, expect, it, onTestFinished } from 'vitest'
import { FleetAgreement, unsupportedMs } from '../../src/fleet/agreement.ts'
import { CollectorLanes } from '../../src/fleet/lane.ts'
import { hourPassed } from '../../src/intake/hour-clock.ts'
import { collectorIdentity } from '../../src/outbox/contract/fleet-store.ts'
import { silentLog } from '../support/log.ts'
import { anHour } from '../support/metrics.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresOutboxPlace } from '../support/postgres/place.ts'
import { postgresPlace } from '../support/postgres/programs.ts'

describe.skipIf(postgresPlace.kind === 'missing')('a definition that no living daemon has', () => {
  const databases = useTestDatabases()

  it('counts for a quarter of an hour more, and then the one of a daemon that waits; a decision stands', async () => {
    const { open, damage, time } = await postgresOutboxPlace(databases)
    const outbox = await open()
    onTestFinished(() => outbox.close())
    const { store } = outbox.sharedOutbox
    const daemon = async (name: string, digest: string) => {
      const definitions = [{ name: collectorIdentity('pool/tvl'), digest: Buffer.from(digest) }]
      const service = { name: 'service', digest: Buffer.from('the same') }
      const agreement = new FleetAgreement({ store, name, service, definitions, log: silentLog, time })
      const machine = {
        version: '1',
        instance: crypto.randomUUID(),
        pid: 7,
        host: name,
        configFile: 'c',
        clockOffMs: 0,
      }
      await agreement.begin()
      const holder = { daemon: name, instance: machine.instance, term: 0 }
      const entry = { name, ...machine, digest: Buffer.alloc(0), lanes: ['web'] }
      const renew = async () => {
        const { term = 0, identities } = await outbox.sharedOutbox.leases.renew(holder, entry)
        holder.term = term
        await agreement.renewed(identities)
      }
      await renew()
      return { agreement, renew }
    }
    const waiting = await daemon('eu-2', 'seven decimals')
    const former = await daemon('eu-1', 'six decimals')
    expect(former.agreement.differing).toEqual(['pool/tvl'])
    // A person decides. The one that is asked first finds what the others said of the former definition.
    await store.take([{ name: collectorIdentity('pool/tvl'), digest: Buffer.from('six decimals') }], 'eu-1')
    await waiting.renew()
    await former.renew()
    const standsBack = async () => {
      await waiting.renew()
      return waiting.agreement.standsBack('pool/tvl')
    }
    await time.sleep(2 * unsupportedMs)
    expect(await standsBack()).toBe(true)
    expect(former.agreement.differing).toEqual([])
    // It lives no more.
    await damage(`UPDATE lease SET until = now() - interval '1 minute' WHERE name = 'daemon/eu-1'`)
    expect(await standsBack()).toBe(true)
    await time.sleep(unsupportedMs - 1)
    expect(await standsBack()).toBe(true)
    await time.sleep(1)
    expect(await standsBack()).toBe(false)
    await former.renew()
    expect(former.agreement.standsBack('pool/tvl')).toBe(true)
  })
})

describe.skipIf(postgresPlace.kind === 'missing')('the first slot of a key', () => {
  const databases = useTestDatabases()

  it('comes at once where a retry-after of it was noted before', async () => {
    const { open } = await postgresOutboxPlace(databases)
    const outbox = await open()
    onTestFinished(() => outbox.close())
    const { store } = outbox.sharedOutbox
    await store.noteRetryAfter('key/1', 0)
    const slots = await store.transaction(async tx => [
      await store.takeSlot('key/1', 7_000, tx),
      await store.takeSlot('key/1', 7_000, tx),
    ])
    const [first, second] = slots.map(({ waitMs }) => waitMs)
    expect(first).toBe(0)
    expect(second).toBeGreaterThan(0)
    expect(second).toBeLessThanOrEqual(7_000)
  })
})

describe.skipIf(postgresPlace.kind === 'missing')('a machine that is gone', () => {
  const databases = useTestDatabases()

  it('keeps host for a day, also where no daemon was ever on it; then another one has it, and its due hours are gaps', async () => {
    const { open, damage } = await postgresOutboxPlace(databases)
    const outbox = await open()
    onTestFinished(() => outbox.close())
    const { store } = outbox.sharedOutbox
    const [collector, other] = ['box/host', 'box/web']
    for (const id of [collector, other]) {
      await outbox.intake.planHours({ collector: id, current: anHour, oldest: anHour, gapReason: hourPassed })
    }
    await store.assignLanes([
      { collector, lane: 'machine/pod-1', isFirst: true },
      { collector: other, lane: 'web', isFirst: false },
    ])
    const lanes = new CollectorLanes([{ id: collector, use: 'host', options: {} }], 'pod-2', store)
    const hoursLater = async (hours: number) => {
      await damage(`UPDATE lease SET until = until - interval '${hours} hours'`)
      return store.forgetDaemons('pod-2')
    }
    const states = () => Promise.all([collector, other].map(id => outbox.intake.hourStates(id, anHour, anHour)))
    expect(await hoursLater(23)).toEqual([])
    expect(await lanes.assigned(collector)).toBe('machine/pod-1')
    expect(await hoursLater(2)).toEqual(['pod-1'])
    expect((await states()).map(of => of.get(anHour))).toEqual(['gap', 'due'])
    const [gap] = await outbox.operators.hourRanges('gap')
    expect(gap).toMatchObject({
      collector,
      fault: { code: 'machine-forgotten', message: 'the machine pod-1 was not seen for a day' },
    })
    expect(await lanes.assigned(collector)).toBe('machine/pod-2')
    expect(lanes.of(collector)).toBe('machine/pod-2')
  })
})
