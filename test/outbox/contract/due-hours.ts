import { describe, expect, it } from 'vitest'
import { Fault } from '../../../src/model/fault.ts'
import { recollectCapMs } from '../../../src/model/limits.ts'
import type { DueHoursWanted } from '../../../src/outbox/contract/hours.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { emptyAt, type NewPlace } from './place.ts'
import { at, begun, collector, failedUntil, hoursOf, nowMs, plan, record, unreachable } from './steps.ts'

function dueHours(outbox: Outbox, more: Partial<DueHoursWanted> = {}) {
  return outbox.intake.dueHours({ collectors: [collector], current: anHour, nowMs, limit: 100, ...more })
}

async function offsets(outbox: Outbox, more: Partial<DueHoursWanted> = {}): Promise<[string, number][]> {
  return (await dueHours(outbox, more)).map(due => [due.collector, (due.hour - anHour) / 3_600_000])
}

function fail(outbox: Outbox, nextAttemptMs: number, hour = anHour) {
  return record(outbox, [], { hour, failure: failedUntil(nextAttemptMs) })
}

/** Promises of `dueHours`, `nextAttemptMs`, `hourStates`, `newestCollected` and `recordGap`. */
export function dueHoursContract(newPlace: NewPlace): void {
  describe('hours', () => {
    it('are due newest first, in the order of the collectors asked for, so many of each', async () => {
      const { outbox } = await emptyAt(newPlace)
      for (const id of ['a/c', 'b/c', 'x/c']) await plan(outbox, { collector: id, since: at(-2) })
      const wanted = { collectors: ['b/c', 'unknown/c', 'a/c'] }
      expect(await offsets(outbox, { ...wanted, limit: 2 })).toEqual([
        ['b/c', 0],
        ['b/c', -1],
        ['a/c', 0],
        ['a/c', -1],
      ])
      expect(await offsets(outbox, wanted)).toHaveLength(6)
      expect(await offsets(outbox, { collectors: [] })).toEqual([])
    })

    it('are not due before they have come', async () => {
      const { outbox } = await begun(newPlace, { to: at(2) })
      expect(await offsets(outbox, { current: at(-1) })).toEqual([])
      expect(await offsets(outbox)).toEqual([[collector, 0]])
      expect(await offsets(outbox, { current: at(1) })).toHaveLength(2)
    })

    it('wait for their next attempt, with its number and fault', async () => {
      const { outbox, handles } = await begun(newPlace, { from: at(-1) })
      await fail(outbox, nowMs + 50)
      const again = await handles.reopened()
      expect(await offsets(again)).toEqual([[collector, -1]])
      expect(await offsets(again, { nowMs: nowMs + 49 })).toEqual([[collector, -1]])
      const [first] = await dueHours(again, { nowMs: nowMs + 50 })
      const fault = { code: 'http-unreachable', message: 'no answer', facts: {} }
      expect(first).toEqual({ collector, hour: anHour, attempts: 1, fault })
      await fail(again, nowMs)
      expect((await dueHours(again))[0]?.attempts).toBe(2)
    })

    it('are due when their next attempt is further ahead than any wait: a wrong clock has written it', async () => {
      const { outbox } = await begun(newPlace)
      await fail(outbox, nowMs + recollectCapMs)
      expect(await offsets(outbox)).toEqual([])
      await fail(outbox, nowMs + recollectCapMs + 1)
      expect(await offsets(outbox)).toHaveLength(1)
    })

    it('are due at once where waiting is ended for their collector: in no other, and no hour that is not due', async () => {
      const { outbox, handles } = await begun(newPlace, { from: at(-3) })
      await plan(outbox, { collector: 'other/c' })
      for (const offset of [-2, -1, 0]) await fail(outbox, nowMs + 50, at(offset))
      await outbox.intake.recordGap(collector, at(-1), unreachable)
      await record(outbox, metrics(1, at(-3)))
      await record(outbox, [], { collector: 'other/c', failure: failedUntil(nowMs + 50) })
      await outbox.intake.endRetryWaits([collector, 'unknown/c'])
      const again = await handles.reopened()
      expect(await offsets(again, { collectors: [collector, 'other/c'] })).toEqual([
        [collector, 0],
        [collector, -2],
      ])
      expect((await dueHours(again))[0]?.attempts, 'the attempts are still counted').toBe(1)
      await again.intake.endRetryWaits([])
      expect(await offsets(again, { collectors: ['other/c'] })).toEqual([])
    })

    it('have a next attempt, the earliest after an instant', async () => {
      const { outbox } = await begun(newPlace, { from: at(-3) })
      expect(await outbox.intake.nextAttemptMs(nowMs)).toBeUndefined()
      for (const [offset, waitMs] of [
        [-3, 70],
        [-2, 50],
        [-1, -5],
      ] as const)
        await fail(outbox, nowMs + waitMs, at(offset))
      expect(await outbox.intake.nextAttemptMs(nowMs)).toBe(nowMs + 50)
      expect(await outbox.intake.nextAttemptMs(nowMs + 50)).toBe(nowMs + 70)
      expect(await outbox.intake.nextAttemptMs(nowMs + 70)).toBeUndefined()
      await record(outbox, metrics(1, at(-2)))
      expect(await outbox.intake.nextAttemptMs(nowMs), 'not of a collected hour').toBe(nowMs + 70)
      await outbox.intake.recordGap(collector, at(-3), unreachable)
      expect(await outbox.intake.nextAttemptMs(nowMs), 'nor of a gap').toBeUndefined()
    })

    it('become gaps once, for good, and never when they are collected', async () => {
      const { outbox, handles } = await begun(newPlace, { from: at(-1) })
      await record(outbox, metrics(1))
      const noBlock = (message: string) => new Fault('chain-before-first-block', message)
      for (const message of ['no block yet', 'again'])
        for (const hour of [at(-1), anHour]) await outbox.intake.recordGap(collector, hour, noBlock(message))
      const again = await handles.reopened()
      expect(await hoursOf(again, at(-1), anHour)).toMatchObject([
        { state: 'gap', attempts: 1, fault: { code: 'chain-before-first-block', message: 'no block yet' } },
        { state: 'collected', attempts: 1 },
      ])
      expect(await offsets(again)).toEqual([])
    })

    it('that were not expected may be gaps, and be collected after all', async () => {
      const { outbox } = await begun(newPlace)
      await outbox.intake.recordGap(collector, at(-900), unreachable)
      expect(await outbox.intake.hourStates(collector, at(-901), at(-899))).toEqual(new Map([[at(-900), 'gap']]))
      await record(outbox, metrics(1, at(-900)))
      await outbox.intake.recordGap(collector, at(-900), unreachable)
      const rows = await hoursOf(outbox, at(-900), at(-900))
      expect(rows).toEqual([{ collector, hour: at(-900), state: 'collected', attempts: 2 }])
    })

    it('have states by hour, of one collector, in a range with both ends', async () => {
      const { outbox } = await begun(newPlace, { to: at(3) })
      await plan(outbox, { collector: 'vault/d', since: at(-2), current: at(9) })
      await record(outbox, metrics(1))
      await outbox.intake.recordGap(collector, at(1), unreachable)
      expect(await outbox.intake.hourStates(collector, at(-9), at(9))).toEqual(
        new Map([
          [anHour, 'collected'],
          [at(1), 'gap'],
          [at(2), 'due'],
          [at(3), 'due'],
        ]),
      )
      expect([...(await outbox.intake.hourStates(collector, at(1), at(2))).values()]).toEqual(['gap', 'due'])
      expect(await outbox.intake.hourStates('unknown/c', at(-9), at(9))).toEqual(new Map())
      expect(await outbox.intake.hourStates(collector, at(2), at(1))).toEqual(new Map())
    })

    it('have a newest collected one, of all collectors', async () => {
      const { outbox, handles } = await begun(newPlace, { to: at(5) })
      expect(await outbox.intake.newestCollected()).toBeUndefined()
      await plan(outbox, { collector: 'vault/d', since: anHour, current: at(5) })
      for (const [id, offset] of [
        [collector, 2],
        ['vault/d', 3],
        [collector, 1],
      ] as const)
        await record(outbox, [], { collector: id, hour: at(offset) })
      await outbox.intake.recordGap(collector, at(4), unreachable)
      expect(await (await handles.reopened()).intake.newestCollected()).toBe(at(3))
    })
  })
}
