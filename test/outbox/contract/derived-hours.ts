import { describe, expect, it } from 'vitest'
import type { Hour } from '../../../src/model/hour.ts'
import { type Metric, type MetricId, metricId } from '../../../src/model/metric.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import type { NewPlace } from './place.ts'
import {
  at,
  begun,
  changed,
  collector,
  deliver,
  failedUntil,
  held,
  nowMs,
  plan,
  record,
  refuse,
  tooOld,
} from './steps.ts'

const derived = 'sums/derived'
const input = metricId('vault', 'M0')

/** Promises of `setInputs`, `inputs`, and of hours that are due again since an input has changed. */
export function derivedHoursContract(newPlace: NewPlace): void {
  /** An outbox whose derived collector has so many hours, each collected, over a window of the first metric. */
  async function begunDerived(hours: number, window: number) {
    const opened = await begun(newPlace, { from: anHour, to: at(hours - 1) })
    const { outbox } = opened
    await outbox.intake.setInputs(derived, [{ id: input, hours: window }])
    await plan(outbox, { collector: derived, since: anHour, current: at(hours - 1) })
    for (let place = 0; place < hours; place += 1) await compute(outbox, at(place))
    return opened
  }

  async function compute(outbox: Outbox, hour: Hour, value = 1, id: MetricId = metricId('sums', 'Sum')) {
    const { changes } = await outbox.intake.inputs([], [{ collector: derived, hour }])
    const accepted = [{ metric: { id, protocolId: 'sums', hour, value } }]
    return outbox.intake.record(
      { collector: derived, hour, acceptedValues: accepted, inputChanges: changes[0] ?? 0 },
      at(5),
    )
  }

  /** Records values, or corrects them, hours after their own. */
  function late(outbox: Outbox, all: readonly Metric[]) {
    const accepted = all.map(metric => ({ metric }))
    const hour = all[0]?.hour ?? anHour
    return outbox.intake.record({ collector, hour, acceptedValues: accepted, mode: 'correct' }, at(5))
  }

  async function dueOf(outbox: Outbox): Promise<number[]> {
    const wanted = { collectors: [derived], current: at(1_000), nowMs: at(1_000), limit: 100 }
    const due = await outbox.intake.dueHours(wanted)
    return due.map(({ hour }) => (hour - anHour) / 3_600_000).toReversed()
  }

  describe('inputs', () => {
    it('are the values of ranges, with their states and units, and of none where there is none', async () => {
      const { outbox, handles } = await begun(newPlace, { from: anHour, to: at(5) })
      const all = metrics(3)
      await record(outbox, [...all.slice(0, 1), ...held(all.slice(1, 2)), ...all.slice(2)])
      await refuse(outbox, all.slice(2))
      await record(outbox, changed(metrics(1, at(1)), 0.1))
      await deliver(outbox, metrics(1, at(1)))
      await record(outbox, changed(metrics(1, at(3)), 5e-324))
      const again = await handles.reopened()
      const of = (label: string, from: number, to: number) => {
        return { id: metricId('vault', label), from: at(from), to: at(to) }
      }
      const asked = [of('M0', 0, 2), of('M0', 3, 3), of('M1', -1, 1), of('M2', 0, 0), of('unknown', 0, 9)]
      const { values, changes } = await again.intake.inputs(asked, [{ collector: 'unknown/c', hour: anHour }])
      expect(changes).toEqual([0])
      const unit = 'USD'
      expect(new Map([...values].map(([id, own]) => [id, [...own].sort((a, b) => a[0] - b[0])]))).toEqual(
        new Map([
          [
            'vault___M0',
            [
              [anHour, { value: 0, state: 'due', unit }],
              [at(1), { value: 0.1, state: 'delivered', unit }],
              [at(3), { value: 5e-324, state: 'due', unit }],
            ],
          ],
          ['vault___M1', [[anHour, { value: 1, state: 'held', unit }]]],
          ['vault___M2', [[anHour, { value: 2, state: 'dead', unit }]]],
        ]),
      )
      expect(await again.intake.inputs([], [])).toEqual({ values: new Map(), givers: new Map(), changes: [] })
    })
  })

  describe('a derived hour', () => {
    it('is due again for each window that holds a corrected value, in the commit of the correction', async () => {
      const { outbox, handles } = await begunDerived(6, 3)
      await late(outbox, metrics(1, at(1)))
      for (const place of await dueOf(outbox)) await compute(outbox, at(place))
      expect(await dueOf(outbox)).toEqual([])
      await late(outbox, metrics(1, at(1)))
      expect(await dueOf(outbox), 'the same value').toEqual([])
      await late(outbox, changed(metrics(1, at(1))))
      expect(await dueOf(await handles.reopened())).toEqual([1, 2, 3])
    })

    it('is due again for a late value, a released one and a retried one, and not for a delivered, held or dead one', async () => {
      const { outbox } = await begunDerived(4, 2)
      await record(outbox, held(metrics(1, at(1))))
      expect(await dueOf(outbox), 'held').toEqual([])
      await outbox.operators.release({ state: 'held' }, 'locked')
      expect(await dueOf(outbox), 'released').toEqual([1, 2])
      for (const place of [1, 2]) await compute(outbox, at(place))
      await refuse(outbox, metrics(1, at(1)))
      expect(await dueOf(outbox), 'dead').toEqual([])
      await outbox.operators.release({ state: 'dead' }, 'locked')
      expect(await dueOf(outbox), 'retried').toEqual([1, 2])
      for (const place of [1, 2]) await compute(outbox, at(place))
      await deliver(outbox, metrics(1, at(1)))
      expect(await dueOf(outbox), 'delivered').toEqual([])
      await record(outbox, metrics(1, at(2)), { hour: at(2) })
      expect(await dueOf(outbox), 'late').toEqual([])
    })

    it('is due again for a late value of a past hour, also where it was a gap', async () => {
      const { outbox } = await begunDerived(2, 3)
      await plan(outbox, { collector: derived, current: at(4) })
      await outbox.intake.recordGap(derived, at(2), tooOld)
      await late(outbox, metrics(1))
      expect(await dueOf(outbox)).toEqual([0, 1, 2, 3, 4])
      // Until it was tried again, it is no gap for its age.
      await plan(outbox, { collector: derived, current: at(5), oldest: at(4) })
      expect((await outbox.intake.hourStates(derived, anHour, at(3))).get(at(2))).toBe('due')
    })

    it('that a backfill could not compute completely is due once its input comes', async () => {
      const { outbox } = await begun(newPlace, { from: anHour, to: at(3) })
      await outbox.intake.setInputs(derived, [{ id: input, hours: 2 }])
      const metric = { id: metricId('sums', 'Other'), protocolId: 'sums', hour: at(1), value: 1 }
      const failed = failedUntil(at(2))
      const outcome = {
        collector: derived,
        hour: at(1),
        acceptedValues: [{ metric }],
        inputChanges: 0,
        unexpected: true,
        failed,
      }
      await outbox.intake.record(outcome, at(3))
      await late(outbox, metrics(1, at(2)))
      expect(await dueOf(outbox), 'another hour').toEqual([])
      await late(outbox, metrics(1))
      expect(await dueOf(outbox)).toEqual([1])
      await compute(outbox, at(1))
      expect(await dueOf(outbox)).toEqual([])
      expect(await outbox.operators.hourRanges('unread')).toEqual([])
    })

    it('that was computed before the last change stays due, and its values replace those before', async () => {
      const { outbox } = await begunDerived(1, 1)
      const { changes } = await outbox.intake.inputs([], [{ collector: derived, hour: anHour }])
      await record(outbox, metrics(1))
      const metric = { id: metricId('sums', 'Sum'), protocolId: 'sums', hour: anHour, value: 7 }
      const outcome = { collector: derived, hour: anHour, acceptedValues: [{ metric }], inputChanges: changes[0] ?? 0 }
      expect(await outbox.intake.record(outcome, nowMs)).toEqual({ added: 0, corrected: 1 })
      expect(await dueOf(outbox)).toEqual([0])
      await outbox.intake.record({ ...outcome, failure: failedUntil(at(2)) }, nowMs)
      expect(await outbox.intake.dueHours({ collectors: [derived], current: anHour, nowMs, limit: 9 })).toHaveLength(1)
      await compute(outbox, anHour, 8)
      expect(await dueOf(outbox)).toEqual([])
      expect(await outbox.operators.stored([metric])).toEqual([{ value: 8, state: 'due' }])
    })

    it('that needs itself is not due for its own new value, and later ones are', async () => {
      const { outbox } = await begun(newPlace)
      const own = metricId('sums', 'Sum')
      await outbox.intake.setInputs(derived, [{ id: input, hours: 1 }])
      await outbox.intake.setInputs(derived, [{ id: own, hours: 3 }])
      await plan(outbox, { collector: derived, since: anHour, current: at(2) })
      for (const place of [0, 1, 2]) await compute(outbox, at(place))
      expect(await dueOf(outbox), 'computed one after the other').toEqual([])
      await compute(outbox, anHour, 2)
      expect(await dueOf(outbox)).toEqual([1, 2])
      await record(outbox, metrics(1))
      expect(await dueOf(outbox), 'another input before').toEqual([1, 2])
    })
  })
}
