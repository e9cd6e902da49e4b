import { describe, expect, it } from 'vitest'
import { Fault } from '../../../src/model/fault.ts'
import { type Hour, hourAfter } from '../../../src/model/hour.ts'
import { commitRowsMax, hourMs } from '../../../src/model/limits.ts'
import type { HourPlan } from '../../../src/outbox/contract/hours.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { emptyAt, type NewPlace } from './place.ts'
import { at, collector, failedUntil, hoursOf, plan, record, tooOld, unreachable } from './steps.ts'

const catchUpHours = 168

/** Plans as intake does, with a catch-up range. */
function planAt(outbox: Outbox, current: Hour, more: Partial<HourPlan> = {}): Promise<number> {
  return plan(outbox, { current, oldest: hourAfter(current, -catchUpHours), ...more })
}

/** Hours of `vault/c` by their state, counted from `anHour`. */
async function byState(outbox: Outbox): Promise<Record<string, number[]>> {
  const states = await outbox.intake.hourStates(collector, at(-100_000), at(1_000_000))
  const all = [...states].map(([hour, state]) => ({ state, offset: (hour - anHour) / hourMs }))
  const grouped = [...Map.groupBy(all, ({ state }) => state)]
  return Object.fromEntries(grouped.map(([state, some]) => [state, some.map(({ offset }) => offset)]))
}

/** Hours planned in turn: how far back they may be collected, and what the start of one collector becomes. */
const rounds: readonly { readonly count: number; readonly back: number; readonly start?: number }[] = [
  { count: 0, back: 2 },
  { count: 1, back: 2 },
  { count: 2, back: 2 },
  { count: 3, back: 2 },
  { count: 4, back: 9 },
  { count: 5, back: 9, start: -2 },
  { count: 6, back: 2 },
  { count: 3, back: 2 },
  { count: 4, back: 2 },
]

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

/** Promises of `planHours`. */
export function planningContract(newPlace: NewPlace): void {
  describe('planning', () => {
    it('expects a collector from its first current hour on, up to the current one', async () => {
      const { outbox } = await emptyAt(newPlace)
      expect(await planAt(outbox, anHour)).toBe(0)
      expect(await byState(outbox)).toEqual({ due: [0] })
      expect(await planAt(outbox, at(3))).toBe(0)
      expect(await byState(outbox)).toEqual({ due: [0, 1, 2, 3] })
      expect(await outbox.intake.hourStates('vault/other', at(-9), at(9))).toEqual(new Map())
    })

    it('expects a new collector from its configured start on', async () => {
      const { outbox } = await emptyAt(newPlace)
      await planAt(outbox, anHour, { since: at(-2) })
      expect(await byState(outbox)).toEqual({ due: [-2, -1, 0] })
    })

    it('moves the start of a known collector back for a configured start, and never forward', async () => {
      const { outbox } = await emptyAt(newPlace)
      await planAt(outbox, anHour)
      await record(outbox, metrics(1))
      await planAt(outbox, anHour, { since: at(-2) })
      expect(await byState(outbox)).toEqual({ due: [-2, -1], collected: [0] })
      await planAt(outbox, at(2), { since: at(1) })
      expect(await byState(outbox)).toEqual({ due: [-2, -1, 1, 2], collected: [0] })
    })

    it('does not move a start back for a clock that is behind', async () => {
      const { outbox } = await emptyAt(newPlace)
      await planAt(outbox, anHour)
      await record(outbox, metrics(1))
      await planAt(outbox, at(-24))
      await planAt(outbox, anHour)
      expect(await byState(outbox)).toEqual({ collected: [0] })
    })

    it('fills the hours between a moved start and hours that were collected apart', async () => {
      const { outbox } = await emptyAt(newPlace)
      await planAt(outbox, at(6), { since: at(4) })
      await record(outbox, metrics(1, at(1)), { unexpected: true })
      await planAt(outbox, at(6), { since: anHour })
      expect(await byState(outbox)).toEqual({ due: [0, 2, 3, 4, 5, 6], collected: [1] })
    })

    it('turns due hours that are too old into gaps, counts them, and keeps a fault they had', async () => {
      const { outbox } = await emptyAt(newPlace)
      await planAt(outbox, at(2), { since: anHour })
      await record(outbox, [], { hour: at(1), failure: failedUntil(5) })
      await record(outbox, metrics(1, at(2)))
      expect(await plan(outbox, { current: at(3), oldest: at(3), gapReason: tooOld })).toBe(2)
      expect(await plan(outbox, { current: at(3), oldest: at(3), gapReason: tooOld }), 'they are gaps now').toBe(0)
      const rows = await hoursOf(outbox, anHour, at(9))
      expect(rows.map(({ state, fault }) => [state, fault?.code])).toEqual([
        ['gap', 'hour-too-old'],
        ['gap', 'http-unreachable'],
        ['collected', undefined],
        ['due', undefined],
      ])
    })

    it('withdraws a start and hours that a clock that was ahead had written', async () => {
      const { outbox, handles } = await emptyAt(newPlace)
      await planAt(outbox, at(50 * 365 * 24))
      const again = await handles.reopened()
      await planAt(again, anHour)
      expect(await byState(again)).toEqual({ due: [0] })
      await planAt(again, at(30 * 24))
      expect((await byState(again))['gap']).toHaveLength(30 * 24 - catchUpHours)
      await planAt(again, anHour)
      expect(await byState(again)).toEqual({ due: [0] })
    })

    it('leaves collected hours of a clock that was ahead as they are', async () => {
      const { outbox } = await emptyAt(newPlace)
      await planAt(outbox, at(2), { since: anHour })
      await record(outbox, metrics(1, at(2)))
      await planAt(outbox, anHour)
      expect(await byState(outbox)).toEqual({ due: [0], collected: [2] })
      await planAt(outbox, at(3))
      expect(await byState(outbox), 'the hours between are expected again').toEqual({ due: [0, 1, 3], collected: [2] })
    })

    it('makes hours due again that are not too old after all, and leaves other gaps as they are', async () => {
      const { outbox } = await emptyAt(newPlace)
      await planAt(outbox, at(5), { since: anHour })
      await outbox.intake.recordGap(collector, at(2), new Fault('chain-state-missing', 'no state'))
      await planAt(outbox, at(30 * 24))
      expect((await byState(outbox))['due']).toEqual(range(30 * 24 - catchUpHours, 30 * 24))
      await planAt(outbox, at(6))
      expect(await byState(outbox)).toEqual({ due: [0, 1, 3, 4, 5, 6], gap: [2] })
    })

    it('makes the current hour due again, without its fault, and no other hour or collector', async () => {
      const { outbox } = await emptyAt(newPlace)
      const ahead = { current: at(3), oldest: at(3), gapReason: new Fault('hour-passed', 'passed') }
      for (const one of [collector, 'vault/d']) await plan(outbox, { ...ahead, collector: one, since: anHour })
      await plan(outbox, { ...ahead, current: at(2), oldest: at(2) })
      expect(await byState(outbox)).toEqual({ gap: [0, 1], due: [2] })
      const rows = await hoursOf(outbox, at(2), at(2))
      expect(rows.map(({ collector: id, state, fault }) => [id, state, fault?.code])).toEqual([
        [collector, 'due', undefined],
        ['vault/d', 'gap', 'hour-passed'],
      ])
    })

    it('leaves a collected current hour as it is', async () => {
      const { outbox } = await emptyAt(newPlace)
      await planAt(outbox, anHour)
      await record(outbox, metrics(1))
      expect(await planAt(outbox, anHour)).toBe(0)
      expect(await byState(outbox)).toEqual({ collected: [0] })
    })

    it('plans more hours than a commit holds', async () => {
      const { outbox } = await emptyAt(newPlace)
      const years = 2 * commitRowsMax + 7
      await planAt(outbox, anHour)
      expect(await planAt(outbox, at(years))).toBe(years - catchUpHours)
      expect(await byState(outbox)).toEqual({
        gap: range(0, years - catchUpHours - 1),
        due: range(years - catchUpHours, years),
      })
    })

    it('plans many collectors at once as it plans each alone', async () => {
      const ids = Array.from({ length: 6 }, (_, index) => `p${index}/c`)
      const [together, alone] = [(await emptyAt(newPlace)).outbox, (await emptyAt(newPlace)).outbox]
      const hours = (outbox: Outbox) => hoursOf(outbox, at(-9), at(20))
      for (const { count, back, start } of rounds) {
        const parts = (id: string): Partial<HourPlan> => ({
          ...{ collector: id, current: at(count), oldest: at(count - back) },
          ...(id === ids[3] && start !== undefined && { since: at(start) }),
        })
        const gaps = await Promise.all(ids.map(id => plan(together, parts(id))))
        for (const [index, id] of ids.entries()) expect(await plan(alone, parts(id))).toBe(gaps[index])
        for (const outbox of [together, alone]) {
          await outbox.intake.recordGap('p1/c', at(count), unreachable)
          await record(outbox, metrics(1, at(count)), { collector: 'p2/c' })
        }
        expect(await hours(together)).toEqual(await hours(alone))
      }
      const states = Map.groupBy(await hours(together), ({ state }) => state)
      expect([...states.keys()].toSorted()).toEqual(['collected', 'due', 'gap'])
    })

    it('expects the hours of the day that are asked for, deletes others that are not collected, and misses none of them', async () => {
      const { outbox } = await emptyAt(newPlace)
      const day = { at: [new Date(anHour).getUTCHours()] }
      const missingAt = async (hour: Hour) => {
        const wanted = { collectors: [{ id: collector, ...day }], protocolIds: [], destinations: [], hour }
        return (await outbox.status.lateness(wanted)).missing
      }
      await planAt(outbox, at(2), { since: at(-2) })
      await record(outbox, metrics(1, at(1)))
      await outbox.intake.recordGap(collector, at(2), unreachable)
      await planAt(outbox, at(25), { since: at(-30), ...day })
      expect(await byState(outbox)).toEqual({ due: [-24, 0, 24], collected: [1] })
      await planAt(outbox, at(47), day)
      expect([await missingAt(at(47)), await missingAt(at(48))]).toEqual([[], [collector]])
      await planAt(outbox, at(48), day)
      expect(await byState(outbox)).toEqual({ due: [-24, 0, 24, 48], collected: [1] })
    })

    it('is there after a restart', async () => {
      const { outbox, handles } = await emptyAt(newPlace)
      await planAt(outbox, at(3), { since: anHour })
      const again = await handles.reopened()
      expect(await byState(again)).toEqual({ due: [0, 1, 2, 3] })
      await planAt(again, at(4))
      expect(await byState(again)).toEqual({ due: [0, 1, 2, 3, 4] })
    })
  })
}
