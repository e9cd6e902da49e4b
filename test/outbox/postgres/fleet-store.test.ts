import { describe, expect, it, onTestFinished } from 'vitest'
import { hourAfter, hourNumber } from '../../../src/model/hour.ts'
import { PostgresFleetStore } from '../../../src/outbox/postgres/fleet-store.ts'
import { openPostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { anHour } from '../../support/metrics.ts'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'

const hourBefore = hourAfter(anHour, -1)

const instances = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'] as const

describe.skipIf(postgresPlace.kind === 'missing')('the store of a fleet', () => {
  const databases = useTestDatabases()

  async function opened() {
    const address = await databases.empty()
    const outbox = await openPostgresOutbox(addressOf(address))
    onTestFinished(() => outbox.close())
    const run = (text: string, ...values: unknown[]) =>
      outbox.database.write(async transaction => transaction.later(text, values))
    return { store: new PostgresFleetStore(outbox.database), run }
  }

  /** Collectors `a`, `b`, … that are expected from an hour on. */
  async function withCollectors(names: readonly string[]) {
    const { store, run } = await opened()
    for (const name of names) {
      await run('INSERT INTO tidegauge.collector (name, since) VALUES ($1, $2)', name, hourNumber(hourBefore))
    }
    const due = (name: string, hour: number, nextAttemptMs = 0) =>
      run(
        `INSERT INTO tidegauge.collection (hour, collector, next_attempt_ms)
         SELECT $2, id, $3 FROM tidegauge.collector WHERE name = $1`,
        ...[name, hour / 3_600_000, nextAttemptMs],
      )
    return { store, run, due }
  }

  it('keeps the lane of the configuration, and of the first machine where that counts', async () => {
    const { store } = await withCollectors(['a', 'host'])
    const assign = (machine: string, chain: string) =>
      store.assignLanes([
        { collector: 'a', lane: chain, isFirst: false },
        { collector: 'host', lane: machine, isFirst: true },
        { collector: 'not planned yet', lane: 'web', isFirst: false },
      ])
    const first = new Map([
      ['a', 'ethereum'],
      ['host', 'machine/eu-1'],
    ])
    expect(await assign('machine/eu-1', 'ethereum')).toEqual(first)
    expect(await assign('machine/eu-2', 'base')).toEqual(new Map([...first, ['a', 'base']]))
    const named = [{ collector: 'host', lane: 'machine/us-1', isFirst: false }]
    expect(await store.assignLanes(named)).toEqual(new Map([['host', 'machine/us-1']]))
  })

  it('finds the lanes and hours that are due, of known collectors whose next attempt has come', async () => {
    const { store, due } = await withCollectors(['a', 'b', 'c', 'unknown'])
    const lane = (collector: string, name: string) => ({ collector, lane: name, isFirst: false })
    await store.assignLanes([lane('a', 'x'), lane('b', 'x'), lane('c', 'y'), lane('unknown', 'z')])
    for (const name of ['a', 'b']) for (const hour of [anHour, hourBefore]) await due(name, hour)
    await due('c', anHour, anHour + 60_000)
    await due('unknown', anHour)
    const known = ['a', 'b', 'c']
    const x = [anHour, hourBefore].map(hour => ({ lane: 'x', hour }))
    expect(await store.dueLaneHours(known, anHour, 10)).toEqual(x)
    expect(await store.dueLaneHours(known, anHour, 1)).toEqual(x.slice(0, 1))
    expect(await store.dueLaneHours(known, anHour + 60_000, 10)).toEqual([x[0], { lane: 'y', hour: anHour }, x[1]])
    expect(await store.isDue(['c'], anHour, anHour)).toBe(false)
    expect(await store.isDue(['a', 'c'], anHour, anHour + 60_001)).toBe(true)
    expect(await store.isDue(['c'], hourBefore, anHour + 60_001)).toBe(false)
  })

  it('sees in a transaction what it has written', async () => {
    const { store, due } = await withCollectors(['a'])
    await due('a', anHour)
    const seen = await store.transaction(async transaction => {
      await transaction.query('UPDATE tidegauge.collection SET state = 1')
      return [await store.isDue(['a'], anHour, 1, transaction), await store.isDue(['a'], anHour, 1)]
    })
    expect(seen).toEqual([false, true])
  })

  it('gives turns of a destination one after the other, to all that ask at once', async () => {
    const { store } = await opened()
    const startedAtMs = await store.nowMs()
    const intervalMs = 60_000 / 20
    const take = async (destination: string) =>
      (await store.transaction(transaction => store.takeSlot(destination, intervalMs, transaction))).waitMs +
      (await store.nowMs())
    const turns = (await Promise.all(Array.from({ length: 10 }, () => take('service')))).sort((a, b) => a - b)
    const lateMs = (await store.nowMs()) - startedAtMs
    for (const [place, atMs] of turns.entries()) {
      expect(atMs).toBeGreaterThanOrEqual(startedAtMs + place * intervalMs - 1)
      expect(atMs).toBeLessThanOrEqual(startedAtMs + place * intervalMs + 2 * lateMs + 1)
    }
    expect(await take('another')).toBeLessThan(startedAtMs + intervalMs)
  })

  it('gives no turn away in a transaction that is rolled back', async () => {
    const { store } = await opened()
    const taken = store.transaction(async transaction => {
      await store.takeSlot('service', 50_000, transaction)
      throw new Error('the role is lost')
    })
    await expect(taken).rejects.toThrow('the role is lost')
    const free = { waitMs: 0, notBeforeMs: 0 }
    expect(await store.transaction(transaction => store.takeSlot('service', 50_000, transaction))).toEqual(free)
  })

  it('waits no longer than a minute for a turn that a wrong clock has given', async () => {
    const { store, run } = await opened()
    await run(`INSERT INTO tidegauge.destination (name, pace_tat) VALUES ('service', now() + interval '3 hours')`)
    const turn = await store.transaction(transaction => store.takeSlot('service', 100, transaction))
    expect(turn.waitMs).toBeLessThanOrEqual(60_000)
  })

  it.each<readonly [what: string, noted: readonly number[], kept: number]>([
    ['the latest of two', [anHour, anHour + 9_000], anHour + 9_000],
    ['the latest of two, although it was written first', [anHour + 9_000, anHour], anHour + 9_000],
    ['the new one after an impossible one', [anHour * 2, anHour], anHour],
    ['none once a person has ended it', [anHour, 0], 0],
    ['a new one after that', [anHour + 9_000, 0, anHour], anHour],
  ])('gives %s of the retry-afters of a destination with each turn', async (_, noted, kept) => {
    const { store } = await opened()
    for (const notBeforeMs of noted) await store.noteRetryAfter('service', notBeforeMs)
    const turn = (destination: string) => store.transaction(tx => store.takeSlot(destination, 100, tx))
    expect(await turn('service')).toMatchObject({ notBeforeMs: kept })
    expect(await turn('another')).toMatchObject({ notBeforeMs: 0 })
  })

  it('knows the daemons that announced themselves, until they leave or were not seen for long', async () => {
    const { store, run } = await opened()
    const running = { pid: 7, host: 'eu-1', configFile: 'tidegauge.yaml' }
    const entry = {
      name: 'eu-1',
      version: '1.0.0',
      digest: Buffer.alloc(32, 1),
      lanes: ['ethereum', 'web'],
      roles: ['deliver/service'],
      ...running,
      instance: instances[0],
      clockOffMs: 0,
    }
    await store.announce(entry, true)
    const [first] = await store.daemons()
    const { instance: _, ...seen } = entry
    expect(first).toMatchObject(seen)
    await store.announce({ ...entry, lanes: ['web'], roles: [] }, false)
    const [again] = await store.daemons()
    expect(again).toMatchObject({ lanes: ['web'], roles: [], startedAtMs: first?.startedAtMs })
    expect(again?.seenAtMs).toBeGreaterThanOrEqual(first?.seenAtMs ?? Number.NaN)
    await run(`UPDATE tidegauge.daemon SET seen = now() - interval '2 days', started = now() - interval '9 days'`)
    await store.announce({ ...entry, name: 'eu-2' }, true)
    expect((await store.daemons()).map(({ name }) => name)).toEqual(['eu-2'])
    await store.leave({ name: 'eu-2', instance: instances[1] })
    expect(await store.daemons(), 'another one of its name stays').toHaveLength(1)
    await store.leave({ name: 'eu-2', instance: instances[0] })
    expect(await store.daemons()).toEqual([])
  })

  it('answers an announcement with the daemon that has been there longest, and with another one of its name', async () => {
    const { store, run } = await opened()
    const entry = (name: string, digit: number, instance: string = instances[0]) => ({
      ...{ name, version: '1', digest: Buffer.alloc(32, digit), lanes: [], roles: [], instance, clockOffMs: 0 },
      ...{ pid: digit, host: `host-${digit}`, configFile: 'c' },
    })
    expect(await store.announce(entry('b', 1), true)).toEqual({})
    expect(await store.announce(entry('a', 2), true)).toEqual({ leading: Buffer.alloc(32, 1) })
    expect(await store.announce(entry('b', 3), false), 'it leads').toEqual({})
    expect(await store.announce(entry('a', 2), false)).toEqual({ leading: Buffer.alloc(32, 3) })
    expect(await store.announce(entry('b', 4, instances[1]), true), 'it was started again').toEqual({
      leading: Buffer.alloc(32, 2),
    })
    expect(await store.announce(entry('b', 4, instances[1]), false)).toEqual({ leading: Buffer.alloc(32, 2) })
    expect(await store.announce(entry('b', 3), false)).toMatchObject({ namesake: 'host-4, pid 4' })
    expect((await store.daemons()).map(({ namesake }) => namesake)).toEqual([undefined, 'host-4, pid 4'])
    await run("UPDATE tidegauge.daemon SET seen = now() - interval '1 minute' WHERE name = 'a'")
    expect(await store.announce(entry('b', 3), false), 'it leads again').toEqual({})
  })
})
