import { describe, expect, it } from 'vitest'
import { Fault, faultRecord } from '../../../src/model/fault.ts'
import { metricId, type Provenance } from '../../../src/model/metric.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { aBlock, aPin } from '../support/blocks.ts'
import { emptyAt, type NewPlace } from './place.ts'
import {
  at,
  balanceOf,
  begun,
  changed,
  collector,
  correct,
  deliver,
  dueOf,
  failedUntil,
  held,
  nowMs,
  odd,
  only,
  plan,
  record,
  refuse,
  unreachable,
} from './steps.ts'

const provenance: Provenance = { version: '1.2.3', code: 'c0de', options: '0b7', hosts: { '1': 'node.example' } }

/** Promises of what is kept about how values came about: `history`, `origin`, `hourRanges` of a backfill's failures, `unsuccessfulFlushes`. */
export function historiesContract(newPlace: NewPlace): void {
  describe('the history of a metric', () => {
    it('says when each value was collected and delivered, the oldest hour first', async () => {
      const { outbox, handles } = await begun(newPlace, { to: at(2) })
      for (const count of [2, 0, 1]) {
        const accepted = metrics(3, at(count)).map(metric => ({ metric }))
        await outbox.intake.record({ collector, hour: at(count), acceptedValues: accepted }, nowMs + count)
      }
      await deliver(outbox, metrics(3, at(1)).slice(1, 2), nowMs + 50)
      await deliver(outbox, metrics(3, at(2)), nowMs + 60)
      const again = await handles.reopened()
      const of = async (label: string) => again.operators.history(metricId('vault', label))
      expect(await of('M1')).toEqual(
        [
          { state: 'due', collectedMs: nowMs },
          { state: 'delivered', collectedMs: nowMs + 1, deliveredMs: nowMs + 50 },
          { state: 'delivered', collectedMs: nowMs + 2, deliveredMs: nowMs + 60 },
        ].map((row, count) => ({ ...metrics(3, at(count))[1], collector, earlier: [], ...row })),
      )
      for (const label of ['M0', 'M2']) {
        const instants = (await of(label)).map(({ collectedMs, deliveredMs }) => [collectedMs, deliveredMs])
        expect(instants, `${label}, whose run was divided`).toEqual([
          [nowMs, undefined],
          [nowMs + 1, undefined],
          [nowMs + 2, nowMs + 60],
        ])
      }
    })

    it('is that of a range of hours, both ends included, and of a known metric', async () => {
      const { outbox } = await begun(newPlace, { to: at(3) })
      for (const count of [0, 1, 2, 3]) await record(outbox, metrics(1, at(count)))
      const id = metricId('vault', 'M0')
      const hours = async (...range: Parameters<typeof at>[0][]) =>
        (await outbox.operators.history(id, ...range.map(at))).map(({ hour }) => hour)
      expect(await hours(1, 2)).toEqual([at(1), at(2)])
      expect(await hours(3)).toEqual([at(3)])
      expect(await hours(-50, 90)).toEqual([0, 1, 2, 3].map(at))
      expect(await outbox.operators.history(metricId('vault', 'other'))).toEqual([])
    })

    it('keeps each earlier value and when it was replaced; the instant of delivery is that of the present one', async () => {
      const { outbox } = await begun(newPlace)
      const id = metricId('vault', 'M0')
      const [metric] = metrics(1)
      const again = async (value: number, atMs: number) => {
        const accepted = changed(metrics(1), value).map(one => ({ metric: one }))
        await outbox.intake.record({ collector, hour: anHour, acceptedValues: accepted, mode: 'correct' }, atMs)
      }
      await record(outbox, metrics(2))
      await deliver(outbox, metrics(1), nowMs + 1)
      await again(7, nowMs + 10)
      const earlier = [{ value: metric?.value, untilMs: nowMs + 10 }]
      const due = { ...metric, collector, value: 7, state: 'due', collectedMs: nowMs, earlier }
      expect(await outbox.operators.history(id)).toEqual([due])
      await again(8, nowMs + 20)
      await again(8, nowMs + 30)
      await deliver(outbox, changed(metrics(1), 8), nowMs + 40)
      expect(await outbox.operators.history(id)).toMatchObject([
        { value: 8, deliveredMs: nowMs + 40, earlier: [...earlier, { value: 7, untilMs: nowMs + 20 }] },
      ])
      expect(only(await outbox.operators.history(metricId('vault', 'M1'))).earlier).toEqual([])
    })

    it('has the reason of a dead or held value, and what a person dropped', async () => {
      const { outbox } = await begun(newPlace)
      const [dead, suspect, dropped] = metrics(3)
      if (!dead || !suspect || !dropped) throw new Error('three')
      await record(outbox, [dead, ...held([suspect]), dropped])
      await refuse(outbox, [dead, dropped], 'too odd')
      await outbox.operators.drop({ state: 'dead', ids: [dropped.id] })
      const of = async ({ id }: typeof dead) => only(await outbox.operators.history(id))
      expect(await of(dead)).toMatchObject({ state: 'dead', reason: 'too odd' })
      expect(await of(suspect)).toMatchObject({ state: 'held', reason: odd.reason })
      expect(await of(dropped)).not.toHaveProperty('reason')
      expect(await of(dropped)).toMatchObject({ state: 'dropped' })
      for (const metric of [dead, suspect, dropped]) expect(await of(metric)).not.toHaveProperty('deliveredMs')
    })
  })

  describe('the origin of an hour', () => {
    it('is how its latest values came about, with the block that they were read at', async () => {
      const { outbox, handles } = await begun(newPlace)
      await record(outbox, metrics(1), { provenance, pins: [aPin(7)], failure: failedUntil(nowMs + 5) })
      const { block } = aPin(7)
      const failed = [{ atMs: nowMs, reason: unreachable.message }]
      const fault = faultRecord(unreachable)
      const row = { collector, hour: anHour, state: 'due', attempts: 1, fault, failed, provenance }
      expect(await outbox.operators.origin(collector, anHour)).toEqual({
        ...row,
        blocks: [{ chainId: 1, block, isFinal: false }],
      })
      const later = { ...provenance, code: 'f00d', hosts: { '1': 'other.example', '10': 'node.example' } }
      await record(outbox, metrics(2), { provenance: later, pins: [aPin(7)] })
      await outbox.intake.confirmPin(1, { collector, hour: anHour, block })
      const collected = { collector, hour: anHour, state: 'collected', attempts: 2, failed, provenance: later }
      const again = await handles.reopened()
      expect(await again.operators.origin(collector, anHour), 'no block is known').toEqual({ ...collected, blocks: [] })
      await again.intake.finalBlocks(1).keep([{ hour: anHour, block: aBlock(7) }])
      await again.intake.finalBlocks(8).keep([{ hour: anHour, block: aBlock(8) }])
      const final = [{ chainId: 1, block: aBlock(7), isFinal: true }]
      expect(await again.operators.origin(collector, anHour)).toEqual({ ...collected, blocks: final })
    })

    it('has the newest failed attempts, however many there were and whatever they say', async () => {
      const { outbox } = await begun(newPlace)
      const words = ['plain', 'two\nlines, 中文 😀', `long ${'x'.repeat(500)}`, '2026-11-20T13:00:00.000Z odd']
      for (let attempt = 0; attempt < 12; attempt += 1) {
        const fault = new Fault('chain-unreachable', `${attempt}: ${words[attempt % words.length]}`)
        await record(outbox, [], { failure: { fault, nextAttemptMs: nowMs + 5 } })
      }
      const { attempts, failed = [] } = (await outbox.operators.origin(collector, anHour)) ?? {}
      expect(attempts).toBe(12)
      const numbers = failed.map(({ reason }) => Number.parseInt(reason, 10))
      expect(numbers.length, 'newest, one after the other').toBeGreaterThan(5)
      expect(numbers).toEqual(numbers.map((_, place) => 12 - numbers.length + place))
      expect(failed.at(-3)).toEqual({ atMs: nowMs, reason: '9: two lines, 中文 😀' })
    })

    it('changes with a correction, and not with a run that changed nothing', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(1), { provenance })
      const later = { ...provenance, version: '1.2.4' }
      const versionOf = async () => (await outbox.operators.origin(collector, anHour))?.provenance?.version
      await record(outbox, metrics(1), { provenance: later, mode: 'correct' })
      expect(await versionOf()).toBe('1.2.3')
      await record(outbox, changed(metrics(1)), { provenance: later, mode: 'correct' })
      expect(await versionOf()).toBe('1.2.4')
      await correct(outbox, changed(metrics(1), 5))
      expect(await versionOf(), 'where it is not known, the last known one stays').toBe('1.2.4')
    })

    it('of an hour that was not expected is known, and that of an unknown hour is not', async () => {
      const { outbox } = await emptyAt(newPlace)
      await record(outbox, metrics(1, at(-9)), { provenance, unexpected: true, hour: at(-9) })
      expect(await outbox.operators.origin(collector, at(-9))).toMatchObject({ state: 'collected', provenance })
      expect(await outbox.operators.origin(collector, at(-8))).toBeUndefined()
      expect(await outbox.operators.origin('vault/other', at(-9))).toBeUndefined()
      await record(outbox, metrics(1, at(-7)), { unexpected: true, hour: at(-7) })
      expect(await outbox.operators.origin(collector, at(-7))).not.toHaveProperty('provenance')
    })
  })

  describe('hours that a backfill could not read', () => {
    const failed = failedUntil(nowMs)
    const unread = { unexpected: true, failure: failed } as const

    it('are known with the reason, as ranges, until they are collected', async () => {
      const { outbox, handles } = await emptyAt(newPlace)
      for (const count of [-3, -2, -1]) await record(outbox, [], { ...unread, hour: at(count) })
      const range = { collector, from: at(-3), to: at(-1), hours: 3, fault: faultRecord(unreachable) }
      expect(await outbox.operators.hourRanges('unread')).toEqual([range])
      const other = new Fault('collector-threw', 'it threw')
      await record(outbox, [], { ...unread, hour: at(-3), failure: { ...failed, fault: other } })
      await record(outbox, metrics(1, at(-2)), { unexpected: true, hour: at(-2) })
      const again = await handles.reopened()
      expect(await again.operators.hourRanges('unread')).toMatchObject([
        { from: at(-3), to: at(-3), fault: { code: 'collector-threw' } },
        { from: at(-1), to: at(-1), fault: { code: 'http-unreachable' } },
      ])
      expect(await again.operators.hourRanges('unread', { to: at(-2) })).toHaveLength(1)
      expect(await again.operators.hourRanges('unread', { collectors: ['vault/other'] })).toEqual([])
      expect(await again.operators.hourRanges('gap')).toEqual([])
    })

    it('are not those that are collected or gaps', async () => {
      const { outbox } = await begun(newPlace, { from: at(-1) })
      await record(outbox, metrics(1))
      await record(outbox, [], unread)
      await outbox.intake.recordGap(collector, at(-1), unreachable)
      await record(outbox, [], { ...unread, hour: at(-1) })
      expect(await outbox.operators.hourRanges('unread')).toEqual([])
      expect(await outbox.operators.hourRanges('gap')).toHaveLength(1)
    })

    it('may be expected, and are tried again as before', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, [], unread)
      expect(await outbox.operators.hourRanges('unread')).toMatchObject([{ from: anHour, hours: 1 }])
      await plan(outbox, { current: at(1) })
      await record(outbox, metrics(1))
      expect(await outbox.operators.hourRanges('unread')).toEqual([])
    })
  })

  describe('sending delivered metrics again', () => {
    it('makes those due that are delivered, once, and no others', async () => {
      const { outbox, handles } = await begun(newPlace)
      const [due, delivered, dead, other] = metrics(4)
      if (!due || !delivered || !dead || !other) throw new Error('four')
      await record(outbox, [due, delivered, dead, other])
      await deliver(outbox, [delivered, other], nowMs + 1)
      await refuse(outbox, [dead])
      const asked = [due, delivered, dead, { id: metricId('vault', 'M9'), hour: anHour }]
      expect(await outbox.operators.resend(asked)).toBe(1)
      expect(await outbox.operators.resend(asked)).toBe(0)
      const again = await handles.reopened()
      expect(await dueOf(again)).toEqual([due, delivered])
      expect(await balanceOf(again)).toMatchObject({ due: 2, delivered: 1, dead: 1, enqueued: 4 })
      await deliver(again, [delivered], nowMs + 9)
      expect(await again.operators.history(delivered.id)).toMatchObject([
        { state: 'delivered', collectedMs: nowMs, deliveredMs: nowMs + 9 },
      ])
    })
  })

  describe('unsuccessful flushes', () => {
    const saved = (atMs: number, waiting?: string) => ({
      notBeforeMs: 0,
      probeAtMs: 0,
      failures: waiting === undefined ? 0 : 1,
      lastPush: { atMs, verdict: 'transient' },
      ...(waiting !== undefined && { waiting }),
    })

    it('are kept as the state is saved; equal ones in a row, but for numbers, are one', async () => {
      const { outbox, handles } = await emptyAt(newPlace)
      const { delivery } = outbox
      await delivery.saveDestination('service', saved(1_000, 'it answers 503 after 1 s'))
      await delivery.saveDestination('service', saved(2_000, 'it answers 503 after 2 s'))
      await delivery.saveDestination('service', { ...saved(2_000, 'no flush'), notBeforeMs: 9 })
      await delivery.saveDestination('other', saved(2_500, 'the key is refused'))
      await delivery.saveDestination('service', saved(3_000))
      await delivery.saveDestination('service', saved(4_000, 'no answer'))
      const { operators } = await handles.reopened()
      const down = { firstMs: 1_000, lastMs: 2_000, flushes: 2, reason: 'it answers 503 after 2 s' }
      const silent = { firstMs: 4_000, lastMs: 4_000, flushes: 1, reason: 'no answer' }
      expect(await operators.unsuccessfulFlushes('service', 0, 9_000)).toEqual([down, silent])
      expect(await operators.unsuccessfulFlushes('service', 1_500, 3_999)).toEqual([down])
      expect(await operators.unsuccessfulFlushes('service', 2_001, 3_999)).toEqual([])
      expect(await operators.unsuccessfulFlushes('other', 0, 9_000)).toHaveLength(1)
    })
  })
}
