import { describe, expect, it } from 'vitest'
import { hourMs } from '../../../src/model/limits.ts'
import type { LatenessWanted } from '../../../src/outbox/contract/status-store.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { emptyAt, type NewPlace } from './place.ts'
import {
  at,
  begun,
  collector,
  deliver,
  failedUntil,
  held,
  hoursOf,
  oneOfEach,
  plan,
  record,
  refuse,
  tooOld,
  unreachable,
} from './steps.ts'

const wanted: LatenessWanted = {
  collectors: [{ id: collector }, { id: 'market/c' }],
  protocolIds: ['vault', 'market'],
  destinations: [],
  hour: anHour,
}

/** The value of a metric in a curve. */
function sentValue(metric?: { readonly state: string; readonly value: number }): number | null {
  return metric && !['held', 'dead', 'dropped'].includes(metric.state) ? metric.value : null
}

/** Promises of the port for status. */
export function statusContract(newPlace: NewPlace): void {
  describe('what is unresolved', () => {
    it('is nothing of an empty outbox', async () => {
      const { outbox } = await emptyAt(newPlace)
      expect(await outbox.status.unresolved()).toEqual([])
    })

    it('is counted by collector, with the newest and why', async () => {
      const { outbox, handles } = await begun(newPlace, { from: at(-4) })
      await outbox.intake.recordGap(collector, at(-4), tooOld)
      await outbox.intake.recordGap(collector, at(-2), unreachable)
      await plan(outbox, { collector: 'other/c', current: at(-3) })
      await outbox.intake.recordGap('other/c', at(-3), tooOld)
      const [first, second, third] = metrics(3)
      if (!first || !second || !third) throw new Error('three are needed')
      await record(outbox, [first, second, { metric: third, hold: { kind: 'jump', reason: 'a jump' } }])
      await refuse(outbox, [first, second], 'not a number')
      const { status, operators } = await handles.reopened()
      expect(await status.unresolved()).toEqual([
        { kind: 'dead', collector, count: 2, hour: anHour, reason: 'not a number' },
        { kind: 'gap', collector: 'other/c', count: 1, hour: at(-3), reason: tooOld.message },
        { kind: 'gap', collector, count: 2, hour: at(-2), reason: unreachable.message },
        { kind: 'held', collector, count: 1, hour: anHour, reason: 'a jump' },
      ])
      await operators.drop({ state: 'dead', ids: [first.id] })
      await operators.release({ state: 'held' }, 'locked')
      const left = (await status.unresolved()).filter(({ kind }) => kind !== 'gap')
      expect(left).toEqual([{ kind: 'dead', collector, count: 1, hour: anHour, reason: 'not a number' }])
    })
  })

  describe('lateness', () => {
    it('is nothing of an empty outbox, but for collectors without a row', async () => {
      const { outbox } = await emptyAt(newPlace)
      expect(await outbox.status.lateness(wanted)).toEqual({
        late: [],
        missing: [collector, 'market/c'],
        gaps: [],
        deadAndHeld: { dead: 0, held: 0 },
        destinations: [],
      })
    })

    it('is of due hours up to the hour: how many, the oldest and its fault', async () => {
      const { outbox, handles } = await begun(newPlace, { from: at(-4), to: at(2) })
      await plan(outbox, { collector: 'market/c' })
      await plan(outbox, { collector: 'other/c' })
      await outbox.intake.recordGap(collector, at(-4), tooOld)
      await record(outbox, metrics(1, at(-3)))
      await record(outbox, [], { hour: at(-2), failure: failedUntil(5) })
      const { status } = await handles.reopened()
      const { late } = await status.lateness(wanted)
      expect(late.toSorted((a, b) => (a.collector < b.collector ? -1 : 1))).toEqual([
        { collector: 'market/c', hours: 1, oldest: anHour },
        { collector, hours: 3, oldest: at(-2), fault: expect.objectContaining({ code: 'http-unreachable' }) },
      ])
      expect((await status.lateness({ ...wanted, hour: at(-3) })).late).toEqual([])
    })

    it('is of collectors without a row of the hour, once they are expected', async () => {
      const { outbox } = await begun(newPlace, { from: at(-1), to: at(-1) })
      const missing = async (asked: LatenessWanted['collectors'], hour = anHour) =>
        (await outbox.status.lateness({ ...wanted, collectors: asked, hour })).missing
      expect(await missing([{ id: collector }])).toEqual([collector])
      expect(await missing([{ id: collector }], at(-1)), 'it has one').toEqual([])
      expect(await missing([{ id: collector }], at(-2)), 'it was not expected yet').toEqual([])
      expect(await missing([{ id: 'new/c' }])).toEqual(['new/c'])
      expect(await missing([{ id: 'new/c', since: at(1) }]), 'it starts later').toEqual([])
      expect(await missing([{ id: 'new/c', since: anHour }])).toEqual(['new/c'])
      await plan(outbox)
      expect(await missing([{ id: collector }])).toEqual([])
    })

    it('is of an hour without a row that a backfill could not read, with the reason', async () => {
      const { outbox } = await begun(newPlace, { from: at(-1), to: at(-1) })
      const failure = { fault: unreachable, nextAttemptMs: 0 }
      await record(outbox, [], { hour: anHour, unexpected: true, failure })
      const fault = expect.objectContaining({ code: unreachable.code })
      const lateness = async () => outbox.status.lateness({ ...wanted, collectors: [{ id: collector }] })
      expect(await lateness()).toMatchObject({ missing: [], late: [{ collector, hours: 2, oldest: at(-1) }] })
      await record(outbox, metrics(1, at(-1)), { hour: at(-1) })
      expect(await lateness()).toMatchObject({ missing: [], late: [{ collector, hours: 1, oldest: anHour, fault }] })
    })

    it('is of gaps at the hour', async () => {
      const { outbox } = await begun(newPlace, { from: at(-1) })
      for (const hour of [at(-1), anHour]) await outbox.intake.recordGap(collector, hour, unreachable)
      await plan(outbox, { collector: 'market/c' })
      await record(outbox, [], { collector: 'market/c' })
      await plan(outbox, { collector: 'other/c' })
      expect((await outbox.status.lateness(wanted)).gaps).toEqual([
        {
          collector,
          hour: anHour,
          state: 'gap',
          attempts: 1,
          fault: expect.objectContaining({ message: 'no answer' }),
        },
      ])
    })

    it('is of metrics due up to the hour, of the protocols asked for', async () => {
      const { outbox } = await begun(newPlace)
      for (const count of [-3, -1, 0, 1]) await record(outbox, metrics(2, at(count)))
      await deliver(outbox, metrics(2, at(-3)))
      await deliver(outbox, metrics(1, at(-1)))
      expect((await outbox.status.lateness(wanted)).due).toEqual({ oldest: at(-1), metrics: 3 })
      expect((await outbox.status.lateness({ ...wanted, protocolIds: ['market'] })).due).toBeUndefined()
      expect((await outbox.status.lateness({ ...wanted, hour: at(-2) })).due).toBeUndefined()
    })

    it('is of dead and held metrics of the hour, of the protocols asked for', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, [...metrics(2), ...held(metrics(5).slice(2))])
      await refuse(outbox, metrics(2))
      await record(outbox, held(metrics(1, at(-1))))
      expect((await outbox.status.lateness(wanted)).deadAndHeld).toEqual({ dead: 2, held: 3 })
      expect((await outbox.status.lateness({ ...wanted, protocolIds: ['market'] })).deadAndHeld).toEqual({
        dead: 0,
        held: 0,
      })
    })

    it('is of destinations in the order asked', async () => {
      const { outbox } = await emptyAt(newPlace)
      const state = { notBeforeMs: 5, probeAtMs: 0, failures: 2, waiting: 'it is down' }
      await outbox.delivery.saveDestination('b', state)
      const { destinations } = await outbox.status.lateness({ ...wanted, destinations: ['a', 'b'] })
      expect(destinations).toEqual([{ notBeforeMs: 0, probeAtMs: 0, failures: 0 }, state])
    })
  })

  describe('a look at everything', () => {
    it('has lateness, counts and warnings, and with a range its rows and values', async () => {
      const { outbox } = await begun(newPlace, { from: at(-1), to: at(1) })
      await oneOfEach(outbox)
      await plan(outbox, { collector: 'another/c' })
      await outbox.delivery.recordVerdicts({ delivered: [], dead: [], warnings: [{ text: 'long label' }] }, 1)
      const overview = {
        ...(await outbox.status.lateness(wanted)),
        backlog: await outbox.operators.backlog(),
        warnings: await outbox.operators.warnings(),
      }
      expect(overview).toMatchObject({ due: { metrics: 1 }, warnings: [{ kind: 'label-long' }] })
      expect(await outbox.status.overview(wanted)).toEqual(overview)
      const { rows, curves, ...rest } = await outbox.status.detail(wanted, anHour, at(1))
      expect(rest).toEqual(overview)
      expect(rows.map(({ collector: id, hour, state }) => [id, hour, state])).toEqual([
        ['another/c', anHour, 'due'],
        [collector, anHour, 'collected'],
        [collector, at(1), 'due'],
      ])
      const byId = Map.groupBy(await outbox.operators.metrics(anHour, at(1)), ({ id }) => id)
      const expected = [...byId.values()].map(own => {
        const { reason: _, ...latest } = own.at(-1) ?? {}
        return { latest, values: [anHour, at(1)].map(hour => sentValue(own.find(metric => metric.hour === hour))) }
      })
      expect(curves).toEqual(expected)
      expect(curves.map(({ latest }) => latest.state)).toEqual(expect.arrayContaining(['held', 'dead']))
      expect(curves.some(({ values }) => values[0] !== null)).toBe(true)
    })

    it('has the newest value of each metric, whatever its state', async () => {
      const { outbox } = await begun(newPlace, { from: at(-3), to: at(1) })
      await record(outbox, metrics(3, at(-3)))
      await record(outbox, metrics(2, at(-1)))
      await refuse(outbox, metrics(1, at(-1)))
      const all = await outbox.operators.metrics(at(-3), anHour)
      const newest = [...all.filter(({ hour }) => hour === at(-1)), ...all.slice(2, 3)]
      expect(await outbox.status.newest(at(-3), anHour)).toEqual(newest)
      expect(newest.map(({ state }) => state)).toEqual(['dead', 'due', 'due'])
      expect(await outbox.status.newest(at(-2), anHour)).toEqual(newest.slice(0, 2))
      expect(await outbox.status.newest(at(1), at(1))).toEqual([])
    })

    it('is as of one instant, whatever is recorded meanwhile', async () => {
      const { outbox, handles } = await begun(newPlace)
      const other = await handles.another()
      let isOver = false
      const looks = (async () => {
        while (!isOver) {
          const { backlog, due } = await other.status.overview(wanted)
          expect(due?.metrics ?? 0).toBe(backlog.balance.due)
          await new Promise(resolve => void setImmediate(resolve))
        }
      })()
      for (let count = 0; count < 20; count += 1) {
        await record(outbox, metrics(5, at(-count)))
        if (count % 2 === 0) await deliver(outbox, metrics(5, at(-count)))
      }
      isOver = true
      await looks
    })
  })

  describe('the states of hours', () => {
    it('are those of the collectors asked for, in their order, an entry an hour, oldest first', async () => {
      const { outbox } = await begun(newPlace, { from: at(-1), to: at(1) })
      await plan(outbox, { collector: 'market/c' })
      await oneOfEach(outbox)
      await outbox.intake.recordGap(collector, at(-1), unreachable)
      const hours = await outbox.status.hoursOfAll(['market/c', 'unknown/c', collector], at(-2), at(1))
      expect(hours.map(({ stateOf }) => [0, 1, 2].map(stateOf))).toEqual([
        [undefined, undefined, undefined],
        [undefined, undefined, 'gap'],
        ['due', undefined, 'collected'],
        [undefined, undefined, 'due'],
      ])
      const states = ['due', 'dead', 'held'] as const
      const has = (place: number, hour: number) => states.map(state => hours[hour]?.has(place, state))
      expect(has(2, 2)).toEqual([true, true, true])
      expect(has(2, 1)).toEqual([false, false, false])
      expect(has(0, 2), 'another collector').toEqual([false, false, false])
      expect(has(1, 2)).toEqual([false, false, false])
    })

    it('have nothing that is not delivered once all is', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(2))
      await refuse(outbox, metrics(1))
      await deliver(outbox, metrics(2))
      const look = async () => (await outbox.status.hoursOfAll([collector], anHour, anHour))[0]
      expect((await look())?.has(0, 'dead')).toBe(true)
      expect((await look())?.has(0, 'due')).toBe(false)
      await outbox.operators.drop({ state: 'dead' })
      expect((await look())?.has(0, 'dead')).toBe(false)
    })

    it('are collected where a backfill has read an hour in part, and not where it has read nothing', async () => {
      const { outbox } = await emptyAt(newPlace)
      const failure = failedUntil(5)
      await record(outbox, metrics(2, at(-3)), { unexpected: true, hour: at(-3), failure })
      await record(outbox, metrics(1, at(-2)), { unexpected: true, hour: at(-2), failure })
      await record(outbox, [], { unexpected: true, hour: at(-1), failure })
      await deliver(outbox, metrics(2, at(-3)))
      const hours = await outbox.status.hoursOfAll([collector], at(-3), anHour)
      expect(hours.map(({ stateOf }) => stateOf(0))).toEqual(['collected', 'collected', undefined, undefined])
      expect(hours.map(({ has }) => has(0, 'due'))).toEqual([false, true, false, false])
    })

    it('are answered of many hours', async () => {
      const { outbox } = await begun(newPlace, { from: at(-99) })
      const hours = await outbox.status.hoursOfAll([collector], at(-99), anHour)
      expect(hours.map(({ stateOf }) => stateOf(0))).toEqual(Array.from({ length: 100 }, () => 'due'))
    })
  })

  describe('the reasons of hours', () => {
    it('are the faults of due hours and gaps, and dead and held metrics, the newest hour first', async () => {
      const { outbox } = await begun(newPlace, { from: at(-4), to: at(1) })
      await outbox.intake.recordGap(collector, at(-4), tooOld)
      await outbox.intake.recordGap(collector, at(-3), tooOld)
      await record(outbox, [], { hour: at(-2), failure: failedUntil(5) })
      await record(outbox, held(metrics(3, at(-1))))
      await record(outbox, metrics(2))
      await refuse(outbox, metrics(1))
      const { failed, deadOrHeld } = await outbox.status.reasons(at(-3), anHour, 100)
      expect(failed).toEqual([
        expect.objectContaining({ collector, hour: at(-2), state: 'due', attempts: 1 }),
        expect.objectContaining({
          collector,
          hour: at(-3),
          state: 'gap',
          fault: expect.objectContaining({ code: tooOld.code }),
        }),
      ])
      expect(deadOrHeld).toEqual([
        { collector, hour: anHour, state: 'dead', metrics: 1, reason: expect.any(String) },
        { collector, hour: at(-1), state: 'held', metrics: 3, reason: expect.any(String) },
      ])
    })

    it('end with the hour in which there are as many as asked for', async () => {
      const { outbox } = await begun(newPlace, { from: at(-30), to: anHour })
      for (const count of [-30, -20, -10]) await outbox.intake.recordGap(collector, at(count), tooOld)
      const { failed } = await outbox.status.reasons(at(-30), anHour, 2)
      expect(failed.map(({ hour }) => hour)).toEqual([at(-10), at(-20)])
    })
  })

  it('all collectors are known by their names, also those not expected any more', async () => {
    const { outbox } = await begun(newPlace, { from: at(-1), to: at(-1) })
    await plan(outbox, { collector: 'market/c' })
    expect(await outbox.status.collectors()).toEqual(['market/c', collector].toSorted())
  })

  describe('the oldest hours that should pass', () => {
    it('are those not collected, not delivered and held, up to the latest', async () => {
      const { outbox } = await begun(newPlace, { from: at(-9), to: at(2) })
      const oldest = (latest = anHour) => outbox.status.oldestHours([collector], ['vault'], latest)
      expect(await oldest()).toEqual({ due: at(-9), collected: undefined, held: undefined })
      await outbox.intake.recordGap(collector, at(-9), unreachable)
      for (const count of [-8, -6]) await record(outbox, metrics(1, at(count)))
      for (const count of [-5, -4]) await record(outbox, held(metrics(1, at(count))))
      expect(await oldest()).toEqual({ due: at(-7), collected: at(-8), held: at(-5) })
      expect(await oldest(at(-8))).toEqual({ due: undefined, collected: at(-8), held: undefined })
      const others = await outbox.status.oldestHours(['market/c'], ['market'], anHour)
      expect(others).toEqual({ due: undefined, collected: undefined, held: undefined })
    })
  })

  describe('gaps', () => {
    it('are counted by collector and reason, of those asked for and in the range alone', async () => {
      const { outbox } = await begun(newPlace, { from: at(-5) })
      for (const count of [-5, -3, -2]) await outbox.intake.recordGap(collector, at(count), unreachable)
      await outbox.intake.recordGap(collector, at(-1), tooOld)
      await plan(outbox, { collector: 'market/c' })
      await outbox.intake.recordGap('market/c', anHour, tooOld)
      expect(await outbox.status.gapCounts([collector, 'unknown/c'], at(-3), anHour)).toEqual([
        { collector, code: tooOld.code, hours: 1 },
        { collector, code: unreachable.code, hours: 2 },
      ])
      expect(await outbox.status.gapCounts([collector], at(-9), at(-6))).toEqual([])
    })
  })

  describe('the newest delivered hour', () => {
    const newest = async (outbox: Awaited<ReturnType<typeof begun>>['outbox'], upTo = anHour, later = 0) => {
      const ids = [collector, 'market/c', 'unknown/c']
      return outbox.status.newestDelivered(ids, upTo, anHour + later * hourMs)
    }

    it('is the start of a collector of which nothing is delivered, and nothing of an unknown one', async () => {
      const { outbox } = await begun(newPlace, { from: at(-3) })
      await plan(outbox, { collector: 'market/c' })
      expect(await newest(outbox)).toEqual(
        new Map([
          [collector, at(-3)],
          ['market/c', anHour],
        ]),
      )
    })

    it('is the last one up to an hour with all metrics delivered or dropped', async () => {
      const { outbox } = await begun(newPlace, { from: at(-5) })
      for (const count of [-5, -4, -3, -2]) await record(outbox, metrics(2, at(count)))
      await deliver(outbox, [...metrics(2, at(-5)), ...metrics(2, at(-3)), ...metrics(1, at(-2))])
      expect((await newest(outbox)).get(collector)).toBe(at(-3))
      expect((await newest(outbox, at(-4), 1)).get(collector)).toBe(at(-5))
      await outbox.operators.dropDue({ hour: at(-2) })
      expect((await newest(outbox, anHour, 2)).get(collector)).toBe(at(-2))
      await outbox.intake.recordGap(collector, at(-1), unreachable)
      expect((await newest(outbox, anHour, 3)).get(collector)).toBe(at(-2))
    })

    it('is of an hour of which nothing was to be delivered', async () => {
      const { outbox } = await begun(newPlace, { from: at(-1) })
      await record(outbox, [], { hour: anHour })
      expect((await newest(outbox)).get(collector)).toBe(anHour)
      expect(await hoursOf(outbox)).toMatchObject([{ state: 'collected' }])
    })
  })
}
