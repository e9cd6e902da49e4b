import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FleetIntakeStore } from '../../src/fleet/fleet-intake-store.ts'
import { type LeaseHolder, type SharedTransaction, serviceIdentity } from '../../src/outbox/contract/fleet-store.ts'
import { tablesVersion } from '../../src/outbox/store/schema.ts'
import { collector, plan, record } from '../outbox/contract/steps.ts'
import { aBlock, aPin } from '../outbox/support/blocks.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresOutboxPlace } from '../support/postgres/place.ts'
import { postgresPlace } from '../support/postgres/programs.ts'

const service = { name: serviceIdentity, digest: Buffer.from('the service') }
const names = ['deliver/ports', 'deliver/tides', 'finality/1']
/** A daemon as it describes itself. */
const machine = { version: '1', pid: 7, host: 'a', configFile: 'c', clockOffMs: 0, lanes: [], digest: Buffer.alloc(0) }
const instance = '11111111-1111-4111-8111-111111111111'

describe.skipIf(postgresPlace.kind === 'missing')('leases in a database', () => {
  const databases = useTestDatabases()

  async function opened() {
    const { open, damage } = await postgresOutboxPlace(databases)
    const outbox = await open()
    onTestFinished(() => outbox.close())
    const { leases, store } = outbox.sharedOutbox
    await store.agree([service], 'eu-1')
    const join = async (daemon: string, instance: string = randomUUID()) => {
      const { term = 0 } = await leases.renew({ daemon, instance, term: 0 })
      return { daemon, instance, term }
    }
    const end = ({ daemon }: LeaseHolder) =>
      damage(`UPDATE lease SET until = now() - interval '1 second' WHERE name = 'daemon/${daemon}'`)
    const isHeld = (holder: LeaseHolder) => store.transaction(transaction => leases.isHeld(holder, transaction))
    return { leases, store, outbox, join, end, isHeld, damage }
  }

  it('are of one daemon until its own has ended, and what is written with its term is refused then', async () => {
    const { leases, join, end, isHeld, outbox } = await opened()
    const [first, second] = [await join('eu-1'), await join('eu-2')]
    expect(await leases.claim(first, names, service)).toEqual(names)
    // As often as it is asked, also where the answer to a commit was lost.
    expect(await leases.claim(first, names, service)).toEqual(names)
    expect(await leases.claim(second, names, service)).toEqual([])
    expect(await leases.renew(first)).toMatchObject({ term: first.term, held: 3, hasOthers: true, isAnyOver: false })
    const before = await leases.renew(second)
    await end(first)
    expect(await leases.renew(second)).toMatchObject({ isAnyOver: true, hasOthers: false, freed: before.freed })
    expect(await isHeld(first)).toBe(true)
    expect(await leases.claim(second, names, service)).toEqual(names)
    expect(await isHeld(first)).toBe(false)
    const fenced = outbox.sharedOutbox.delivery.withStep(async transaction => {
      if (!(await leases.isHeld(first, transaction))) throw new Error('fenced')
    })
    const delivered = { delivered: [], dead: [], warnings: [{ text: 'late' }] }
    await expect(fenced.recordVerdicts(delivered, 1)).rejects.toThrow('fenced')
    const state = { notBeforeMs: 1, probeAtMs: 0, failures: 1, waiting: 'late' }
    await expect(fenced.saveDestination('service', state)).rejects.toThrow('fenced')
    // It wakes up: with another term, and nothing but that.
    const woken = await leases.renew(first)
    expect(woken.term).toBeGreaterThan(first.term)
    expect(woken.freed).toBeGreaterThan(before.freed)
    expect(await leases.claim({ ...first, term: woken.term ?? 0 }, names, service)).toEqual([])
    expect(await leases.claim(first, ['new'], service)).toEqual([])
  })

  it('are free at once where a daemon gives them back or stops, and its next process has a larger term', async () => {
    const { leases, store, join, isHeld } = await opened()
    const [first, second] = [await join('eu-1'), await join('eu-2')]
    await leases.claim(first, names, service)
    await leases.release(first, ['finality/1'])
    expect(await leases.claim(second, names, service)).toEqual(['finality/1'])
    expect(await isHeld(first)).toBe(true)
    await leases.leave(first)
    expect(await leases.claim(second, names, service)).toEqual(names)
    const next = await join('eu-1')
    expect(next.term).toBeGreaterThan(first.term)
    // A former process of a name ends nothing of the next one.
    await leases.leave(first)
    expect(await isHeld(next)).toBe(true)
    expect((await store.daemons()).map(({ name }) => name)).toEqual([])
  })

  it('of delivering are not taken with another service than that of the fleet', async () => {
    const { leases, join } = await opened()
    const daemon = await join('eu-1')
    const another = { ...service, digest: Buffer.from('another') }
    expect(await leases.claim(daemon, names, another)).toEqual(['finality/1'])
    expect(await leases.claim(daemon, names, service)).toEqual(names)
  })

  it('are not taken from a daemon while a commit of it is under way', async () => {
    const { leases, store, join, end } = await opened()
    const [first, second] = [await join('eu-1'), await join('eu-2')]
    await leases.claim(first, names, service)
    await end(first)
    await store.transaction(async transaction => {
      expect(await leases.isHeld(first, transaction)).toBe(true)
      expect(await leases.claim(second, names, service)).toEqual([])
    })
    expect(await leases.claim(second, names, service)).toEqual(names)
  })

  it('of one name are of one process, and another one of it is named while it lives', async () => {
    const { leases, store, join, damage } = await opened()
    const daemon = await join('eu-1')
    await damage(`UPDATE lease SET holder = '${instance}' WHERE name = 'daemon/eu-1'`)
    await leases.renew({ ...daemon, instance }, { name: 'eu-1', instance, ...machine })
    const other = { daemon: 'eu-1', instance: '22222222-2222-4222-8222-222222222222', term: 0 }
    const renewal = await leases.renew(other, { name: 'eu-1', ...machine, instance: other.instance, host: 'b' })
    expect(renewal.term).toBeUndefined()
    expect(renewal.othersUntilMs).toBeGreaterThan(0)
    await leases.noteNamesake('eu-1', 'b, pid 8')
    const seen = async () => (await store.daemons()).map(({ host, namesake }) => [host, namesake])
    expect(await seen()).toEqual([['a', 'b, pid 8']])
    await damage(`UPDATE lease SET until = now() - interval '1 second' WHERE name = 'namesake/eu-1'`)
    expect(await seen()).toEqual([['a', undefined]])
  })

  it('are refused by tables of a newer version', async () => {
    const { leases, join, damage } = await opened()
    const daemon = await join('eu-1')
    await damage('UPDATE version SET version = 99')
    onTestFinished(() => damage(`UPDATE version SET version = ${tablesVersion}`))
    await expect(leases.renew(daemon)).rejects.toThrow('version 99')
    await expect(leases.claim(daemon, names, service)).rejects.toThrow('version 99')
    await expect(leases.release(daemon, names)).rejects.toThrow('version 99')
  })

  it('fence that a block is final, and that its hour cannot be read again: a daemon without its own deletes no pin', async () => {
    const { join, leases, outbox, end } = await opened()
    await plan(outbox)
    await record(outbox, metrics(1), { pins: [aPin(7)] })
    const [first, second] = [await join('eu-1'), await join('eu-2')]
    const storeOf = (holder: LeaseHolder, collectors = [collector]) => {
      const requireHeld = async (transaction: SharedTransaction) => {
        if (!(await leases.isHeld(holder, transaction))) throw new Error(`${holder.daemon} has lost its lease`)
      }
      const lanes = { collectors }
      const deps = { intake: outbox.sharedOutbox.intake, requireHeld, checksFinality: () => true, lanes }
      return new FleetIntakeStore(deps as never)
    }
    await end(first)
    await leases.claim(second, names, service)
    const pinned = { collector, hour: anHour, block: aBlock(7) }
    const lost = 'eu-1 has lost its lease'
    await expect(storeOf(first).confirmPin(1, pinned)).rejects.toThrow(lost)
    await expect(storeOf(first).forgetPins(collector, anHour)).rejects.toThrow(lost)
    expect(await storeOf(second).pinnedHours(1, anHour, 10)).toEqual([pinned])
    // A daemon that lacks the collector could not read its hour again, and would give it up.
    expect(await storeOf(second, ['another/one']).pinnedHours(1, anHour, 10)).toEqual([])
    await storeOf(second).confirmPin(1, pinned)
    expect(await storeOf(second).pinnedHours(1, anHour, 10)).toEqual([])
    await record(outbox, metrics(1), { pins: [aPin(8)], mode: 'correct' })
    await storeOf(second).forgetPins(collector, anHour)
    expect(await storeOf(second).pinnedHours(1, anHour, 10)).toEqual([])
  })

  it.each([
    ['that no other daemon has', [], '5 minutes', ['x/y']],
    ['for which another stands back', ['x/y'], '5 minutes', ['x/y']],
    ['for which another stands back that was started later', ['x/y'], '0', ['x/y']],
    ['that may have been removed from another, which was started later', [], '0', []],
  ])('tell which collectors a dead daemon left behind: one %s', async (_, differing, age, leftBehind) => {
    const { leases, store, damage } = await opened()
    const instances = { 'eu-1': instance, 'eu-2': '22222222-2222-4222-8222-222222222222' }
    for (const [name, own] of Object.entries(instances)) {
      await leases.renew({ daemon: name, instance: own, term: 0 }, { name, ...machine, instance: own })
    }
    const seen = async () => (await store.daemons()).map(daemon => daemon.leftBehind)
    await store.noteDefinitions('eu-2', { agreeing: ['x/y', 'x/z'], differing: [] })
    await damage(`UPDATE daemon SET started = now() - interval '${age}' WHERE name = 'eu-1'`)
    await damage("UPDATE lease SET until = now() - interval '1 second' WHERE name = 'daemon/eu-2'")
    // It has not said yet what it runs.
    expect(await seen()).toEqual([[], []])
    await store.noteDefinitions('eu-1', { agreeing: ['x/z'], differing })
    expect(await seen()).toEqual([[], leftBehind])
  })

  it('are forgotten with their daemon after a day', async () => {
    const { leases, store, join, damage } = await opened()
    await join('eu-1')
    await leases.renew({ daemon: 'eu-2', instance, term: 0 }, { name: 'eu-2', instance, ...machine })
    await damage(`UPDATE lease SET until = now() - interval '23 hours' WHERE name = 'daemon/eu-2'`)
    expect(await store.forgetDaemons('eu-1')).toEqual([])
    expect(await store.daemons()).toHaveLength(1)
    await damage(`UPDATE lease SET until = now() - interval '25 hours' WHERE name = 'daemon/eu-2'`)
    expect(await store.forgetDaemons('eu-2')).toEqual([])
    expect(await store.forgetDaemons('eu-1')).toEqual(['eu-2'])
    expect(await store.daemons()).toEqual([])
  })
})
