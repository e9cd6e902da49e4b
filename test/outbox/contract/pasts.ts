import { describe, expect, it } from 'vitest'
import { metricId } from '../../../src/model/metric.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import type { NewPlace } from './place.ts'
import { at, balanceOf, begun, changed, correct, deliver, dueOf, held, only, record, refuse } from './steps.ts'

/** The metric with a value in another unit, or without one. */
const inUnit = (unit: string | undefined, hour = anHour, value = 1) => {
  const { unit: _, ...metric } = only(metrics(1, hour))
  return { ...metric, value, ...(unit !== undefined && { unit }) }
}

const otherUnit = { kind: 'unit', reason: 'another unit' } as const

/** Promises of `pasts`, and of units. */
export function pastsContract(newPlace: NewPlace): void {
  const id = metricId('vault', 'M0')

  describe('the past of a metric', () => {
    it('is its last value before an hour, at most a day old, with that value’s hour', async () => {
      const { outbox, handles } = await begun(newPlace)
      await record(outbox, changed(metrics(1), 5))
      await record(outbox, changed(metrics(1, at(2)), 7))
      const again = await handles.reopened()
      const asked = [0, 1, 2, 3, 26, 27].map(count => ({ id, hour: at(count) }))
      expect(await again.intake.pasts(asked)).toEqual([
        { unit: 'USD' },
        { unit: 'USD', previous: { hour: anHour, value: 5 } },
        { unit: 'USD', previous: { hour: anHour, value: 5 } },
        { unit: 'USD', previous: { hour: at(2), value: 7 } },
        { unit: 'USD', previous: { hour: at(2), value: 7 } },
        { unit: 'USD' },
      ])
    })

    it('is of a year for a value of no items', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(2))
      await record(outbox, changed(metrics(1, at(30)), 5))
      const asked = [25, 30, 31, 100, 30 + 8_000].map(count => ({ id, hour: at(count), isOfNone: true }))
      const pasts = await outbox.intake.pasts([...asked, { id: metricId('vault', 'M1'), hour: at(31) }])
      expect(pasts.map(past => past?.previous?.value)).toEqual([0, 0, 5, 5, 5, undefined])
    })

    it('is answered in the order asked, undefined for an unknown id', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(2))
      const of = (label: string) => ({ id: metricId('vault', label), hour: at(1) })
      const pasts = await outbox.intake.pasts([of('M1'), of('unknown'), of('M0')])
      expect(pasts.map(past => past?.previous?.value)).toEqual([1, undefined, 0])
      expect(pasts[1]).toBeUndefined()
      expect(await outbox.intake.pasts([])).toEqual([])
    })

    it('counts due and delivered values, not dead, held or dropped ones', async () => {
      const { outbox } = await begun(newPlace)
      const all = metrics(5)
      await record(outbox, [...all.slice(0, 4), ...held(all.slice(4))])
      await deliver(outbox, all.slice(1, 2))
      await refuse(outbox, all.slice(2, 4))
      await outbox.operators.drop({ state: 'dead', ids: ['vault___M3'] })
      const pasts = await outbox.intake.pasts(metrics(5, at(1)))
      expect(pasts.map(past => past?.previous?.value)).toEqual([0, 1, undefined, undefined, undefined])
    })

    it('is the corrected value', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(1))
      await correct(outbox, changed(metrics(1), 8))
      expect(only(await outbox.intake.pasts([{ id, hour: at(1) }]))?.previous).toEqual({ hour: anHour, value: 8 })
    })
  })

  describe('the unit of a metric', () => {
    it('is locked by its first value, also when that has none', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, [inUnit(undefined)])
      expect(await outbox.intake.pasts([{ id, hour: at(1) }])).toEqual([{ previous: { hour: anHour, value: 1 } }])
      await record(outbox, [inUnit('USD', at(1))])
      expect(await outbox.operators.deadOrHeld({ state: 'held' })).toMatchObject([{ kind: 'unit', unit: 'USD' }])
    })

    it('is kept when a value comes with another one: that value is held', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, [inUnit('USD')])
      expect(await record(outbox, [inUnit('cents', at(1))])).toEqual({ added: 1, corrected: 0 })
      expect(await outbox.operators.deadOrHeld({ state: 'held' })).toMatchObject([
        { kind: 'unit', unit: 'cents', hour: at(1), value: 1 },
      ])
      expect(await dueOf(outbox)).toEqual([inUnit('USD')])
      expect(only(await outbox.intake.pasts([{ id, hour: at(2) }]))?.unit).toBe('USD')
    })

    it('is not locked by a held value that a person releases, unless the unit may change', async () => {
      const { outbox, handles } = await begun(newPlace)
      await record(outbox, [inUnit('USD')])
      await record(outbox, [{ metric: inUnit('cents', at(1)), hold: otherUnit }])
      expect(await outbox.operators.release({ state: 'held' }, 'locked')).toBe(0)
      expect(await outbox.operators.release({ state: 'held' }, 'changed')).toBe(1)
      const again = await handles.reopened()
      const unitsAt = async (count: number) => only(await again.intake.pasts([{ id, hour: at(count) }]))?.unit
      expect([await unitsAt(0), await unitsAt(1), await unitsAt(2)]).toEqual(['USD', 'cents', 'cents'])
      expect(new Set(await dueOf(again))).toEqual(new Set([inUnit('USD'), inUnit('cents', at(1))]))
      await record(again, [inUnit('USD', at(2))])
      expect(await again.operators.deadOrHeld({ state: 'held' })).toMatchObject([{ kind: 'unit', unit: 'USD' }])
    })

    it('is mended by reading the hour again: in the locked unit the value is due, in another one held for that', async () => {
      const { outbox, handles } = await begun(newPlace)
      await record(outbox, [inUnit('USD')])
      await record(outbox, [inUnit('USDD', at(1))])
      expect(await record(outbox, [inUnit('USD', at(1))]), 'the first value stands').toMatchObject({ corrected: 0 })
      expect(await correct(outbox, [inUnit('USDD', at(1))]), 'no difference').toMatchObject({ corrected: 0 })
      expect(await correct(outbox, [inUnit('UDS', at(1))])).toMatchObject({ corrected: 1 })
      const again = await handles.reopened()
      const heldNow = () => again.operators.deadOrHeld({ state: 'held' })
      expect(await heldNow()).toMatchObject([{ kind: 'unit', unit: 'UDS', reason: expect.stringMatching(/is UDS/) }])
      expect(await correct(again, held([inUnit('USD', at(1))]))).toMatchObject({ corrected: 1 })
      expect(await heldNow()).toMatchObject([{ kind: 'bounds', unit: 'USD' }])
      expect(await correct(again, [inUnit('USDD', at(1), 2)])).toMatchObject({ corrected: 1 })
      expect(await correct(again, [inUnit('USD', at(1), 2)])).toMatchObject({ corrected: 1 })
      expect(await heldNow()).toEqual([])
      expect(new Set(await dueOf(again))).toEqual(new Set([inUnit('USD'), inUnit('USD', at(1), 2)]))
      const [entry] = await again.operators.history(id, at(1))
      expect(entry, 'a value that was the same is no earlier one').toMatchObject({ earlier: [{ value: 1 }] })
    })

    it('that is mended leaves what is private private, and what a person dropped dropped', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, [inUnit('USD')])
      await record(outbox, [{ metric: inUnit('cents', at(1)), isPrivate: true }])
      await record(outbox, [inUnit('cents', at(2))])
      await outbox.operators.drop({ state: 'held', hour: at(2) })
      expect(await correct(outbox, [{ metric: inUnit('USD', at(1)), isPrivate: true }])).toMatchObject({ corrected: 1 })
      expect(await correct(outbox, [inUnit('USD', at(2))])).toMatchObject({ corrected: 0 })
      expect(await balanceOf(outbox)).toMatchObject({ due: 1, private: 1, dropped: 1, held: 0 })
    })

    it('is that of the next value, for all hours, where it was lost in a damaged store', async () => {
      const { outbox, handles } = await begun(newPlace)
      await record(outbox, [inUnit('USD'), { ...only(metrics(2).slice(1)), module: 'm' }])
      await record(outbox, [inUnit('USD', at(4))])
      const again = await handles.damaged('DELETE FROM description')
      expect(await again.intake.pasts([{ id, hour: at(2) }])).toEqual([undefined])
      await record(again, [inUnit('EUR', at(2), 7)])
      const due = (await dueOf(again)).filter(metric => metric.id === id).toSorted((a, b) => a.hour - b.hour)
      expect(due).toEqual([inUnit('EUR'), inUnit('EUR', at(2), 7), inUnit('EUR', at(4))])
      await record(again, [inUnit('USD', at(3))])
      expect(await again.operators.deadOrHeld({ state: 'held' }), 'it is locked').toMatchObject([{ unit: 'USD' }])
    })

    it('is lost for a metric that had none: the next value without one locks that', async () => {
      const { outbox, handles } = await begun(newPlace)
      await record(outbox, [inUnit(undefined)])
      const again = await handles.damaged('DELETE FROM description')
      await record(again, [inUnit(undefined, at(1))])
      await record(again, [inUnit('USD', at(2))])
      expect(await again.operators.deadOrHeld({ state: 'held' })).toMatchObject([{ kind: 'unit', unit: 'USD' }])
    })

    it('changes at one hour when later values have the old one', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, [inUnit('USD')])
      await record(outbox, [inUnit('USD', at(2))])
      await record(outbox, [{ metric: inUnit('cents', at(1)), hold: otherUnit }])
      await outbox.operators.release({ state: 'held' }, 'changed')
      const due = (await dueOf(outbox)).toSorted((a, b) => a.hour - b.hour)
      expect(due.map(({ unit }) => unit)).toEqual(['USD', 'cents', 'USD'])
    })

    it('changes from an hour on when a person says so, without a value of it', async () => {
      const { outbox, handles } = await begun(newPlace)
      await record(outbox, [inUnit('USD')])
      expect((await dueOf(outbox)).map(({ unit }) => unit)).toEqual(['USD'])
      await outbox.operators.changeUnit({ id, hour: at(1), unit: 'cents' })
      await record(outbox, [inUnit('cents', at(2))])
      expect((await dueOf(outbox)).map(({ unit }) => unit).toSorted()).toEqual(['USD', 'cents'])
      await outbox.operators.changeUnit({ id: metricId('vault', 'unknown'), hour: at(1), unit: 'cents' })
      const again = await handles.reopened()
      await record(again, [inUnit('cents', at(1))])
      expect((await dueOf(again)).map(({ unit }) => unit).toSorted()).toEqual(['USD', 'cents', 'cents'])
      expect(await again.intake.pasts([{ id: metricId('vault', 'unknown'), hour: at(2) }])).toEqual([undefined])
    })
  })
}
