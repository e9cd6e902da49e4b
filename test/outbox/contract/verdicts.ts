import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Metric } from '../../../src/model/metric.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { repetitions } from '../../support/soak.ts'
import type { NewPlace } from './place.ts'
import {
  at,
  balanceOf,
  begun,
  changed,
  correct,
  deliver,
  dueOf,
  everything,
  nowMs,
  only,
  record,
  refuse,
  statesAt,
} from './steps.ts'

/** Metrics of two protocols and two hours, so that neighbours belong to different things. */
const several: readonly Metric[] = [anHour, at(1)].flatMap(hour => [
  ...metrics(6, hour, 'vault'),
  ...metrics(6, hour, 'market'),
])

const keyOf = ({ id, hour }: Metric) => `${id} ${hour}`

/** Promises of `recordVerdicts`. */
export function verdictsContract(newPlace: NewPlace, soakRuns: number): void {
  describe('recording verdicts', () => {
    it('delivers what it names, in any order and with gaps, once', async () => {
      await fc.assert(
        fc.asyncProperty(fc.shuffledSubarray([...several]), async delivered => {
          const { outbox } = await begun(newPlace)
          await record(outbox, several)
          for (let times = 0; times < 2; times += 1) {
            await deliver(outbox, delivered)
            const due = new Set(several.filter(metric => !delivered.includes(metric)).map(keyOf))
            expect(new Set((await dueOf(outbox)).map(keyOf))).toEqual(due)
            expect(await balanceOf(outbox)).toMatchObject({ delivered: delivered.length, due: due.size })
          }
        }),
        { numRuns: repetitions({ test: 6, soak: soakRuns }) },
      )
    })

    it('delivers lists as they were read, cut and joined', async () => {
      const cuts = fc.array(fc.nat({ max: several.length }), { minLength: 3, maxLength: 3 })
      await fc.assert(
        fc.asyncProperty(cuts, fc.boolean(), async (unsorted, isOther) => {
          const { outbox, handles } = await begun(newPlace)
          await record(outbox, several)
          const list = await outbox.delivery.due(everything, several.length)
          const [from = 0, middle = 0, to = 0] = unsorted.toSorted((a, b) => a - b)
          const [one, other] = [list.slice(from, middle), list.slice(middle, to)]
          const named = new Set([...one, ...other].map(keyOf))
          const left = several.map(keyOf).filter(key => !named.has(key))
          // Another connection numbers the same metrics, and does not know where they were read.
          await deliver(isOther ? await handles.another() : outbox, [...other, ...one])
          expect((await dueOf(outbox)).map(keyOf).toSorted()).toEqual(left.toSorted())
          expect(await balanceOf(outbox)).toMatchObject({ delivered: named.size, due: left.length })
        }),
        { numRuns: repetitions({ test: 6, soak: soakRuns }) },
      )
    })

    it('delivers what another store has read, by its ids', async () => {
      const [{ outbox: one }, { outbox: other }] = [await begun(newPlace), await begun(newPlace)]
      await record(one, metrics(3))
      await record(other, metrics(5).toReversed())
      await deliver(other, await one.delivery.due(everything, 2))
      expect((await dueOf(other)).map(({ id }) => id).toSorted()).toEqual(['vault___M2', 'vault___M3', 'vault___M4'])
    })

    it('is there after a restart', async () => {
      const { outbox, handles } = await begun(newPlace)
      await record(outbox, metrics(3))
      await deliver(outbox, metrics(1))
      await refuse(outbox, metrics(2).slice(1), 'too odd')
      const again = await handles.reopened()
      expect(await again.operators.metrics(anHour, anHour)).toMatchObject([
        { state: 'delivered' },
        { state: 'dead', reason: 'too odd' },
        { state: 'due' },
      ])
      expect(await dueOf(again)).toEqual(metrics(3).slice(2))
    })

    it('keeps a dead metric for a person, with the words, status, pushes and instant', async () => {
      const { outbox } = await begun(newPlace)
      const [first, second] = metrics(2)
      if (!first || !second) throw new Error('two')
      await record(outbox, metrics(2))
      const dead = [
        { metric: first, reason: 'bad label', status: 422, attempts: 3 },
        { metric: second, reason: 'no status', attempts: 1 },
      ]
      await outbox.delivery.recordVerdicts({ delivered: [], dead, warnings: [] }, nowMs)
      const shared = { state: 'dead', kind: 'refused', sinceMs: nowMs, collector: 'vault/c' }
      expect(await outbox.operators.deadOrHeld({ state: 'dead' })).toEqual([
        { ...first, ...shared, reason: 'bad label', status: 422, attempts: 3 },
        { ...second, ...shared, reason: 'no status', attempts: 1 },
      ])
    })

    it('does not change what has a verdict already', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(2))
      await deliver(outbox, metrics(1))
      await refuse(outbox, metrics(2), 'late')
      await deliver(outbox, metrics(2))
      expect((await outbox.operators.metrics(anHour, anHour)).map(({ state, reason }) => [state, reason])).toEqual([
        ['delivered', undefined],
        ['dead', 'late'],
      ])
      expect(await balanceOf(outbox)).toMatchObject({ delivered: 1, dead: 1, enqueued: 2 })
    })

    it('leaves alone what was never enqueued', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(1))
      for (const settle of [deliver, refuse]) {
        await settle(outbox, [...metrics(1, anHour, 'stranger'), ...metrics(1, at(5))])
      }
      expect(await balanceOf(outbox)).toMatchObject({ delivered: 0, dead: 0, due: 1 })
      expect(await outbox.operators.deadOrHeld({ state: 'dead' })).toEqual([])
    })

    it('records all or none', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(3))
      const dead = [{ metric: only(metrics(2).slice(1)), reason: 'no', attempts: 0.5 }]
      const verdicts = { delivered: metrics(1), dead, warnings: [{ text: 'a warning' }] }
      await expect(outbox.delivery.recordVerdicts(verdicts, nowMs)).rejects.toThrow()
      expect(await balanceOf(outbox)).toMatchObject({ delivered: 0, dead: 0, due: 3 })
      expect(await outbox.operators.warnings()).toEqual([])
      await deliver(outbox, metrics(3))
      expect(await balanceOf(outbox)).toMatchObject({ delivered: 3 })
    })

    it('leaves a metric due that was corrected since it was sent', async () => {
      for (const settle of [deliver, refuse]) {
        const { outbox, handles } = await begun(newPlace)
        const other = await handles.another()
        await record(outbox, metrics(4))
        const sent = await dueOf(other)
        await correct(outbox, changed(metrics(2)))
        for (const who of [other, outbox]) await settle(who, sent)
        expect(new Set(await dueOf(other))).toEqual(new Set(changed(metrics(2))))
        expect(await balanceOf(outbox)).toMatchObject({ due: 2, enqueued: 4 })
        await deliver(other, await dueOf(other))
        expect(await balanceOf(outbox)).toMatchObject({ due: 0 })
      }
    })

    it('counts for a metric that was corrected back to the value that was sent', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(1))
      await correct(outbox, changed(metrics(1)))
      await correct(outbox, metrics(1))
      await deliver(outbox, changed(metrics(1)))
      expect(await balanceOf(outbox)).toMatchObject({ due: 1 })
      await deliver(outbox, metrics(1))
      expect(await balanceOf(outbox)).toMatchObject({ due: 0, delivered: 1 })
    })

    it('does not deliver a retried metric by an answer about an earlier value', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(1))
      await correct(outbox, changed(metrics(1)))
      await refuse(outbox, changed(metrics(1)))
      await deliver(outbox, changed(metrics(1)))
      expect(await statesAt(outbox), 'it is dead').toEqual([[99, 'dead']])
      await outbox.operators.release({ state: 'dead' }, 'locked')
      await deliver(outbox, metrics(1))
      expect(await statesAt(outbox)).toEqual([[99, 'due']])
    })
  })
}
