import { describe, expect, it } from 'vitest'
import { commitRowsMax } from '../../../src/model/limits.ts'
import { type Metric, metricId } from '../../../src/model/metric.ts'
import type { Accepted } from '../../../src/outbox/contract/metrics.ts'
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
  hoursOf,
  nowMs,
  odd,
  only,
  plan,
  record,
  refuse,
  statesAt,
  unreachable,
} from './steps.ts'

const failure = failedUntil(nowMs + 5)

/** Promises of `record`. */
export function recordingContract(newPlace: NewPlace): void {
  describe('recording', () => {
    it('enqueues metrics as they are, and completes their hour, for good', async () => {
      const { outbox, handles } = await begun(newPlace)
      const full = { ...only(metrics(1)), value: 0.1 + 0.2, module: 'tvl' }
      const bare = { id: metricId('vault', 'bare'), protocolId: 'vault', hour: anHour, value: -5e-324 }
      expect(await record(outbox, [full, bare])).toEqual({ added: 2, corrected: 0 })
      const again = await handles.reopened()
      expect((await dueOf(again)).toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual([full, bare])
      expect(await hoursOf(again)).toEqual([{ collector, hour: anHour, state: 'collected', attempts: 1 }])
    })

    it('stores a value of minus zero as zero', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, changed(metrics(1), -0))
      expect(only(await dueOf(outbox)).value).toBe(0)
      expect(await correct(outbox, changed(metrics(1), -0))).toEqual({ added: 0, corrected: 0 })
    })

    it('lets the first value of a metric and hour stand', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(2))
      expect(await record(outbox, [...changed(metrics(2)), ...metrics(3).slice(2)])).toEqual({ added: 1, corrected: 0 })
      expect(await statesAt(outbox)).toEqual([
        [0, 'due'],
        [1, 'due'],
        [2, 'due'],
      ])
    })

    it('takes one value of a metric that comes twice at once', async () => {
      const { outbox } = await begun(newPlace)
      const twice = [...metrics(2), ...changed(metrics(1)), ...held(metrics(2))]
      expect(await record(outbox, twice)).toEqual({ added: 2, corrected: 0 })
      expect(await statesAt(outbox)).toEqual([
        [0, 'due'],
        [1, 'due'],
      ])
      expect(await balanceOf(outbox)).toMatchObject({ due: 2, held: 0, enqueued: 2 })
    })

    it('does not hold a metric that is due already', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(1))
      await record(outbox, held(metrics(1)))
      expect(await outbox.operators.metrics(anHour, anHour)).toEqual([{ ...only(metrics(1)), state: 'due', collector }])
    })

    it('holds a suspicious metric with its reason', async () => {
      const { outbox, handles } = await begun(newPlace)
      expect(await record(outbox, held(metrics(1)))).toEqual({ added: 1, corrected: 0 })
      const again = await handles.reopened()
      expect(await dueOf(again)).toEqual([])
      const expected = { ...only(metrics(1)), state: 'held', kind: 'bounds', reason: 'odd', sinceMs: nowMs, collector }
      expect(await again.operators.deadOrHeld({ state: 'held' })).toEqual([expected])
    })

    it.each([Number.NaN, Number.POSITIVE_INFINITY])('refuses %s, and all that comes with it', async value => {
      const { outbox } = await begun(newPlace)
      const [good, bad] = metrics(2)
      if (!good || !bad) throw new Error('two')
      await expect(record(outbox, [good, { ...bad, value }], { pins: [aPin(7)] })).rejects.toThrow()
      expect(await balanceOf(outbox)).toMatchObject({ enqueued: 0 })
      expect(await outbox.intake.hourStates(collector, anHour, anHour)).toEqual(new Map([[anHour, 'due']]))
      expect(await outbox.intake.pinnedHours(1, anHour, 9)).toEqual([])
      expect(await outbox.intake.pasts([good]), 'not even their ids are known').toEqual([undefined])
      expect(await record(outbox, [good])).toEqual({ added: 1, corrected: 0 })
    })

    it('stores nothing where a block is not one', async () => {
      const { outbox } = await begun(newPlace)
      const ofNoBlock = { chainId: 1, block: { ...aBlock(8), hash: '0x12' } } as const
      await expect(record(outbox, metrics(1), { pins: [ofNoBlock] })).rejects.toThrow()
      expect(await balanceOf(outbox)).toMatchObject({ enqueued: 0 })
    })

    it('refuses values of a collector that was never planned', async () => {
      const { outbox } = await begun(newPlace)
      await expect(record(outbox, metrics(1), { collector: 'unknown/c' })).rejects.toThrow()
      expect(await balanceOf(outbox)).toMatchObject({ enqueued: 0 })
    })

    it('is not undone by another outcome of the same turn that is refused', async () => {
      const { outbox } = await begun(newPlace, { to: at(2) })
      const [first, bad, last] = await Promise.allSettled([
        record(outbox, metrics(2)),
        record(outbox, changed(metrics(1, at(1)), Number.NaN)),
        record(outbox, metrics(3, at(2))),
      ])
      expect([first?.status, bad?.status, last?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect(await balanceOf(outbox)).toMatchObject({ enqueued: 5 })
      const states = await outbox.intake.hourStates(collector, anHour, at(2))
      expect([...states.values()]).toEqual(['collected', 'due', 'collected'])
    })

    it('keeps the values of a failed run, whose hour stays due', async () => {
      const { outbox } = await begun(newPlace)
      expect(await record(outbox, metrics(1), { failure })).toEqual({ added: 1, corrected: 0 })
      expect(await hoursOf(outbox)).toMatchObject([{ state: 'due', attempts: 1 }])
      expect(await record(outbox, metrics(3))).toEqual({ added: 2, corrected: 0 })
      expect(await hoursOf(outbox)).toEqual([{ collector, hour: anHour, state: 'collected', attempts: 2 }])
    })

    it('leaves a collected hour collected, after one attempt, whatever ends afterwards', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(1))
      await record(outbox, [], { failure })
      await record(outbox, metrics(1))
      expect(await hoursOf(outbox)).toEqual([{ collector, hour: anHour, state: 'collected', attempts: 1 }])
    })

    it('leaves a gap with its reason when a run fails afterwards, and mends it when one succeeds', async () => {
      const { outbox } = await begun(newPlace)
      await plan(outbox, { current: at(1), oldest: at(1) })
      await record(outbox, [], { failure })
      expect(await hoursOf(outbox)).toMatchObject([{ state: 'gap', attempts: 0, fault: { code: 'hour-too-old' } }])
      await record(outbox, metrics(1))
      expect(await hoursOf(outbox)).toEqual([{ collector, hour: anHour, state: 'collected', attempts: 1 }])
    })

    it('gives a metric to the collector that recorded it last', async () => {
      const { outbox } = await begun(newPlace)
      await plan(outbox, { collector: 'vault/d' })
      await record(outbox, metrics(1))
      await record(outbox, metrics(1, at(1)), { collector: 'vault/d' })
      const all = await outbox.operators.metrics(anHour, at(1))
      expect(all.map(metric => metric.collector)).toEqual(['vault/d', 'vault/d'])
    })

    it('shows an hour as collected only once all of many metrics are there', async () => {
      const { outbox, handles } = await begun(newPlace)
      const many = 2 * commitRowsMax + 5
      const look = await handles.another()
      let isStored = false
      let looks = 0
      const watched = (async () => {
        for (; !isStored; looks += 1) {
          const [state] = (await look.intake.hourStates(collector, anHour, anHour)).values()
          if (state === 'collected') expect((await balanceOf(look)).enqueued).toBe(many)
          const before = await balanceOf(look)
          const pins = await look.intake.pinnedHours(1, anHour, 9)
          if (before.enqueued > 0) expect(pins, 'the blocks come with the first of them').toHaveLength(1)
          await new Promise(resolve => void setImmediate(resolve))
        }
      })()
      expect(await record(outbox, metrics(many), { pins: [aPin(7)] })).toEqual({ added: many, corrected: 0 })
      isStored = true
      await watched
      expect(looks).toBeGreaterThan(0)
      expect(await correct(outbox, changed(metrics(many), -1))).toEqual({ added: 0, corrected: many })
      expect(await record(outbox, metrics(many))).toEqual({ added: 0, corrected: 0 })
      expect(await balanceOf(outbox)).toMatchObject({ enqueued: many, due: many })
    })
  })

  describe('an hour that was not expected', () => {
    const past = at(-100)
    const unexpected = { unexpected: true, hour: past }

    it('is collected when it is recorded, of a collector that is expected from now on', async () => {
      const { outbox } = await emptyAt(newPlace)
      expect(await record(outbox, metrics(2, past), unexpected)).toEqual({ added: 2, corrected: 0 })
      expect(await hoursOf(outbox, past, anHour)).toEqual([{ collector, hour: past, state: 'collected', attempts: 1 }])
      await plan(outbox)
      expect(await outbox.intake.hourStates(collector, past, anHour)).toEqual(
        new Map([
          [past, 'collected'],
          [anHour, 'due'],
        ]),
      )
    })

    it('is not waited for when it failed, and its values are kept', async () => {
      const { outbox } = await emptyAt(newPlace)
      expect(await record(outbox, metrics(2, past), { ...unexpected, failure })).toEqual({ added: 2, corrected: 0 })
      expect(await hoursOf(outbox, past, anHour)).toEqual([])
      expect(await outbox.intake.nextAttemptMs(0)).toBeUndefined()
      expect(await balanceOf(outbox)).toMatchObject({ due: 2 })
      expect(await record(outbox, metrics(3, past), unexpected)).toEqual({ added: 1, corrected: 0 })
    })

    it('changes nothing of an expected hour when it fails', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, [], { unexpected: true, failure })
      expect(await hoursOf(outbox)).toEqual([{ collector, hour: anHour, state: 'due', attempts: 0 }])
    })
  })

  describe('a correction', () => {
    it.each([
      ['due', async () => {}],
      ['delivered', deliver],
      ['dead', refuse],
    ] as const)('makes a metric that was %s due again, with the new value', async (_, settle) => {
      const { outbox, handles } = await begun(newPlace)
      await record(outbox, metrics(2))
      await settle(outbox, metrics(2))
      expect(await correct(outbox, changed(metrics(1)))).toEqual({ added: 0, corrected: 1 })
      const again = await handles.reopened()
      expect((await dueOf(again)).filter(({ id }) => id === 'vault___M0')).toEqual(changed(metrics(1)))
      expect(await again.delivery.sentBefore(metrics(1))).toEqual(['corrected'])
      await deliver(again, changed(metrics(1)))
      expect(await again.delivery.sentBefore(metrics(1))).toEqual(['unknown'])
      expect((await statesAt(again))[0]).toEqual([99, 'delivered'])
      expect(await again.operators.deadOrHeld({ state: 'dead', ids: ['vault___M0'] })).toEqual([])
    })

    it('leaves a held metric held, with the new value and what it was before', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, held(metrics(2)))
      const [first, second] = changed(metrics(2))
      if (!first || !second) throw new Error('two')
      const again = { metric: second, hold: { kind: 'jump', reason: 'still odd' } } as const
      expect(await correct(outbox, [first, again])).toEqual({ added: 0, corrected: 2 })
      expect(await outbox.operators.deadOrHeld({ state: 'held' })).toMatchObject([
        { value: 99, kind: 'bounds', reason: expect.stringMatching(/^odd.*\b0\b.*\b99\b/) },
        { value: 99, kind: 'jump', reason: 'still odd' },
      ])
      expect(await dueOf(outbox)).toEqual([])
      await outbox.operators.release({ state: 'held' }, 'locked')
      expect((await dueOf(outbox)).map(({ value }) => value)).toEqual([99, 99])
      expect(await outbox.delivery.sentBefore(metrics(1)), 'the first value was never sent').not.toContain('corrected')
    })

    it('holds a metric whose new value is suspicious, until a person releases that value', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(1))
      await deliver(outbox, metrics(1))
      await correct(outbox, held(changed(metrics(1))))
      expect(await statesAt(outbox)).toEqual([[99, 'held']])
      expect(await balanceOf(outbox)).toMatchObject({ held: 1, delivered: 0, enqueued: 1 })
      await outbox.operators.release({ state: 'held' }, 'locked')
      await deliver(outbox, metrics(1))
      expect(await statesAt(outbox), 'an answer about the old value says nothing').toEqual([[99, 'due']])
    })

    it('leaves a dropped metric and an equal value alone', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(2))
      await refuse(outbox, metrics(1))
      await outbox.operators.drop({ state: 'dead' })
      await deliver(outbox, metrics(2))
      expect(await correct(outbox, [...changed(metrics(1)), ...metrics(2).slice(1)])).toEqual({
        added: 0,
        corrected: 0,
      })
      expect(await balanceOf(outbox)).toMatchObject({ dropped: 1, delivered: 1, due: 0 })
      const other = metrics(2).slice(1)
      expect(await correct(outbox, changed(other, 0.1 + 0.2))).toEqual({ added: 0, corrected: 1 })
      expect(await correct(outbox, changed(other, 0.3)), 'the next number but one').toEqual({ added: 0, corrected: 1 })
    })

    it('that was not there yet is new', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(1))
      expect(await correct(outbox, [...metrics(2), { metric: metrics(3)[2] ?? only([]), hold: odd }])).toEqual({
        added: 2,
        corrected: 0,
      })
      expect(await outbox.delivery.sentBefore(metrics(2).slice(1))).toEqual(['unknown'])
      expect((await statesAt(outbox)).map(([, state]) => state)).toEqual(['due', 'due', 'held'])
    })

    it('completes an hour that was a gap', async () => {
      const { outbox } = await begun(newPlace)
      await outbox.intake.recordGap(collector, anHour, unreachable)
      await correct(outbox, metrics(1))
      expect(await outbox.intake.hourStates(collector, anHour, anHour)).toEqual(new Map([[anHour, 'collected']]))
    })
  })

  describe('a private metric', () => {
    const kept = (all: readonly Metric[]): Accepted[] => all.map(metric => ({ metric, isPrivate: true }))

    it('is kept, judged by and corrected, and never due: neither released, nor corrected, nor sent again', async () => {
      const { outbox, handles } = await begun(newPlace, { to: at(1) })
      await record(outbox, kept(metrics(1)))
      await correct(outbox, kept(changed(metrics(1))))
      await record(
        outbox,
        kept(metrics(1, at(1))).map(one => ({ ...one, hold: odd })),
      )
      const again = await handles.reopened()
      expect(await statesAt(again)).toEqual([[99, 'private']])
      expect(await again.operators.history(metrics(1)[0]?.id ?? only([]))).toMatchObject([
        { state: 'private', earlier: [{ value: 0 }] },
        { state: 'held', reason: 'odd' },
      ])
      expect(await again.intake.pasts([{ id: 'vault___M0', hour: at(1) }])).toMatchObject([{ previous: { value: 99 } }])
      expect(await balanceOf(again)).toMatchObject({ enqueued: 1, due: 0, held: 1, private: 1 })
      expect(await again.operators.resend(metrics(1))).toBe(0)
      expect(await again.operators.release({ state: 'held' }, 'locked')).toBe(1)
      await deliver(again, metrics(1, at(1)))
      expect(await statesAt(again, at(1))).toEqual([[0, 'private']])
      expect(await dueOf(again)).toEqual([])
      expect(await balanceOf(again)).toMatchObject({ enqueued: 0, due: 0, held: 0, private: 2 })
    })

    it('is sent once it is corrected as one that is not private, and the other way round', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, kept(metrics(2)))
      expect(await record(outbox, metrics(2)), 'the first value stands').toEqual({ added: 0, corrected: 0 })
      expect(await correct(outbox, metrics(2))).toEqual({ added: 0, corrected: 2 })
      expect(await dueOf(outbox)).toEqual(metrics(2))
      expect(await correct(outbox, kept(changed(metrics(1))))).toEqual({ added: 0, corrected: 1 })
      await deliver(outbox, metrics(2))
      expect(await statesAt(outbox)).toEqual([
        [99, 'private'],
        [1, 'delivered'],
      ])
    })
  })
}
