import { describe, expect, it } from 'vitest'
import { Fault } from '../../../src/model/fault.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { emptyAt, type NewPlace } from './place.ts'
import {
  at,
  begun,
  collector,
  deliver,
  failedUntil,
  hoursOf,
  oneOfEach,
  only,
  plan,
  record,
  unreachable,
} from './steps.ts'

function warn(outbox: Outbox, texts: readonly string[], nowMs: number): Promise<void> {
  return outbox.delivery.recordVerdicts({ delivered: [], dead: [], warnings: texts.map(text => ({ text })) }, nowMs)
}

/** A number without digits, which make no difference to the kind of a warning. */
function spelled(number: number): string {
  return [...String(number)].map(digit => 'abcdefghij'[Number(digit)]).join('')
}

/** Promises of `hourRanges`, `metrics`, `deliveredHours`, `stored`, `expectHour`, `warnings` and `acknowledge`. */
export function lookingContract(newPlace: NewPlace): void {
  describe('ranges of hours', () => {
    it('are gaps in a row with the same reason, whatever numbers are in its words', async () => {
      const { outbox, handles } = await begun(newPlace)
      await plan(outbox, { collector: 'vault/d' })
      const mark = async (name: string, from: number, to: number, words: (count: number) => string) => {
        for (let count = from; count <= to; count += 1)
          await outbox.intake.recordGap(name, at(count), new Fault('chain-state-missing', words(count)))
      }
      await mark(collector, 1, 5, count => `no state of block ${count}`)
      await mark(collector, 6, 6, () => 'another reason')
      await mark(collector, 8, 9, () => 'another reason')
      await mark('vault/d', 10, 11, () => 'another reason')
      const range = (name: string, from: number, to: number, message: string) => ({
        ...{ collector: name, from: at(from), to: at(to), hours: to - from + 1 },
        fault: { code: 'chain-state-missing', message, facts: {} },
      })
      const all = [
        range(collector, 1, 5, 'no state of block 1'),
        range(collector, 6, 6, 'another reason'),
        range(collector, 8, 9, 'another reason'),
        range('vault/d', 10, 11, 'another reason'),
      ]
      const { operators } = await handles.reopened()
      expect(await operators.hourRanges('gap')).toEqual(all)
      expect(await operators.hourRanges('gap', { collectors: ['vault/d'] })).toEqual(all.slice(3))
      expect(await operators.hourRanges('gap', { collectors: [] })).toEqual([])
      expect(await operators.hourRanges('gap', { from: at(9) })).toEqual([
        range(collector, 9, 9, 'another reason'),
        all[3],
      ])
      expect(await operators.hourRanges('gap', { collectors: [collector], from: at(4), to: at(6) })).toEqual([
        range(collector, 4, 5, 'no state of block 4'),
        all[1],
      ])
    })

    it('are hours that wait, apart from gaps', async () => {
      const { outbox } = await begun(newPlace, { to: at(3) })
      await record(outbox, [], { hour: at(2), failure: failedUntil(5) })
      await outbox.intake.recordGap(collector, anHour, unreachable)
      const { operators } = outbox
      expect(await operators.hourRanges('gap')).toMatchObject([{ from: anHour, to: anHour, hours: 1 }])
      const waiting = await operators.hourRanges('due', { to: at(2) })
      expect(waiting).toEqual([
        { collector, from: at(1), to: at(1), hours: 1 },
        { collector, from: at(2), to: at(2), hours: 1, fault: expect.objectContaining({ code: 'http-unreachable' }) },
      ])
      await record(outbox, metrics(1, at(1)))
      expect(await operators.hourRanges('due')).toMatchObject([{ from: at(2) }, { from: at(3) }])
    })
  })

  describe('a look at metrics', () => {
    it('shows every metric of a range of hours, by hour, with its state and reason, but no dropped one', async () => {
      const { outbox } = await begun(newPlace)
      await oneOfEach(outbox)
      for (const count of [2, 1]) await record(outbox, metrics(1, at(count)))
      const [due, delivered, dead, suspect] = metrics(4)
      expect(await outbox.operators.metrics(anHour, anHour)).toEqual([
        { ...due, state: 'due', collector },
        { ...delivered, state: 'delivered', collector },
        { ...dead, state: 'dead', collector, reason: 'refused' },
        { ...suspect, state: 'held', collector, reason: 'odd' },
      ])
      const later = await outbox.operators.metrics(at(1), at(2))
      expect(later.map(({ hour }) => hour)).toEqual([at(1), at(2)])
      expect(await outbox.operators.metrics(at(3), at(9))).toEqual([])
    })

    it('finds values and states in the order asked, of dropped ones too', async () => {
      const { outbox } = await begun(newPlace)
      await oneOfEach(outbox)
      const asked = [...metrics(5), ...metrics(1, at(1)), ...metrics(1, anHour, 'unknown')].toReversed()
      expect(await outbox.operators.stored(asked)).toEqual([
        undefined,
        undefined,
        { value: 4, state: 'dropped' },
        { value: 3, state: 'held' },
        { value: 2, state: 'dead' },
        { value: 1, state: 'delivered' },
        { value: 0, state: 'due' },
      ])
    })

    it('finds the hours of collectors with a delivered metric, oldest first', async () => {
      const { outbox } = await begun(newPlace, { to: at(3) })
      await plan(outbox, { collector: 'market/c', since: anHour })
      for (const count of [2, 0, 1]) {
        await record(outbox, metrics(3, at(count)))
        if (count !== 1) await deliver(outbox, metrics(2, at(count)))
      }
      await record(outbox, metrics(1, anHour, 'market'), { collector: 'market/c' })
      await deliver(outbox, metrics(1, anHour, 'market'))
      const { operators } = outbox
      const own = [anHour, at(2)].map(hour => ({ collector, hour }))
      expect(await operators.deliveredHours([collector])).toEqual(own)
      expect(await operators.deliveredHours([collector, 'market/c'], anHour, at(1))).toEqual([
        { collector: 'market/c', hour: anHour },
        { collector, hour: anHour },
      ])
      expect(await operators.deliveredHours([collector], at(1), at(2))).toEqual(own.slice(1))
      expect(await operators.deliveredHours(['unknown/c'])).toEqual([])
      expect(await operators.deliveredHours([])).toEqual([])
    })
  })

  describe('an hour that a person collects now', () => {
    it('is expected, and so is its collector from the current hour on', async () => {
      const { outbox, handles } = await emptyAt(newPlace)
      await outbox.operators.expectHour(collector, at(-5), anHour)
      const again = await handles.reopened()
      const due = { collector, hour: at(-5), state: 'due', attempts: 0 }
      expect(await hoursOf(again, at(-9), anHour)).toEqual([due])
      await plan(again)
      expect(await hoursOf(again, at(-9), anHour)).toEqual([due, { ...due, hour: anHour }])
    })

    it('stays as it is when it is known', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(1))
      await outbox.operators.expectHour(collector, anHour, at(1))
      expect(await hoursOf(outbox)).toMatchObject([{ state: 'collected' }])
    })
  })

  describe('a warning', () => {
    it('is counted once for each metric and kind, with its latest words', async () => {
      const { outbox, handles } = await emptyAt(newPlace)
      const metric = only(metrics(1))
      for (const nowMs of [5, 6, 7]) {
        const warnings = [{ text: `long label ${nowMs}`, metric }]
        await outbox.delivery.recordVerdicts({ delivered: [], dead: [], warnings }, nowMs)
      }
      const first = { metricId: metric.id, kind: 'label-long', text: 'long label 7', count: 3 }
      const again = await handles.reopened()
      expect(await again.operators.warnings()).toEqual([
        { ...first, firstSeenMs: 5, lastSeenMs: 7, isAcknowledged: false },
      ])
    })

    it('is listed with the last seen first, and without a metric where none matches', async () => {
      const { outbox } = await emptyAt(newPlace)
      await warn(outbox, ['odd words'], 1)
      await warn(outbox, ['other words'], 2)
      await warn(outbox, ['odd words'], 3)
      const all = await outbox.operators.warnings()
      expect(all.map(({ text, count }) => [text, count])).toEqual([
        ['odd words', 2],
        ['other words', 1],
      ])
      expect(all[0]).not.toHaveProperty('metricId')
    })

    it('is marked as seen by a person, once, and stays so when it comes again', async () => {
      const { outbox } = await emptyAt(newPlace)
      const [first, second] = metrics(2)
      if (!first || !second) throw new Error('two')
      const warnings = [
        { text: 'long label', metric: first },
        { text: 'another unit', metric: first },
        { text: 'long label', metric: second },
        { text: 'words' },
      ]
      await outbox.delivery.recordVerdicts({ delivered: [], dead: [], warnings }, 1)
      expect(await outbox.operators.acknowledge({ ids: [first.id], kind: 'label-long' })).toBe(1)
      expect(await outbox.operators.acknowledge({ ids: [first.id] }), 'the other one of it').toBe(1)
      expect(await outbox.operators.acknowledge({ ids: ['unknown'] })).toBe(0)
      expect(await outbox.operators.acknowledge({ kind: 'label-long' })).toBe(1)
      await outbox.delivery.recordVerdicts({ delivered: [], dead: [], warnings }, 2)
      const unseen = (await outbox.operators.warnings()).filter(({ isAcknowledged }) => !isAcknowledged)
      expect(unseen.map(({ text }) => text)).toEqual(['words'])
      expect(await outbox.operators.acknowledge({})).toBe(1)
    })

    it('is one of the 1,000 that were seen last', async () => {
      const { outbox } = await emptyAt(newPlace)
      await warn(outbox, ['first'], 1)
      await warn(outbox, ['second'], 2)
      const between = Array.from({ length: 998 }, (_, index) => `between ${spelled(index)}`)
      await warn(outbox, between, 3)
      expect(await outbox.operators.warnings()).toHaveLength(1_000)
      await warn(outbox, ['first'], 4)
      await warn(outbox, ['last'], 5)
      const texts = (await outbox.operators.warnings()).map(({ text }) => text)
      expect(texts).toHaveLength(1_000)
      expect(texts.slice(0, 2)).toEqual(['last', 'first'])
      expect(texts).not.toContain('second')
    })
  })

  it('a value is found however it was written: as it was read', async () => {
    const { outbox } = await begun(newPlace)
    const values = [Number.MAX_VALUE, -Number.MIN_VALUE, 0.1, 2 ** 53 + 2, -1e-300, 1e21]
    const all = metrics(values.length).map((metric, index) => ({ ...metric, value: values[index] ?? 0 }))
    await record(outbox, all)
    expect((await outbox.operators.stored(all)).map(found => found?.value)).toEqual(values)
    expect((await outbox.operators.metrics(anHour, anHour)).map(({ value }) => value).toSorted()).toEqual(
      values.toSorted(),
    )
  })
}
