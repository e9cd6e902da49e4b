import { describe, expect, it } from 'vitest'
import { commitRowsMax, hourMs } from '../../../src/model/limits.ts'
import type { Outbox, UpkeepDeps, UpkeepNews } from '../../../src/outbox/contract/outbox.ts'
import type { Role } from '../../../src/outbox/contract/role.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import type { Handles, NewPlace } from './place.ts'
import { at, balanceOf, begun, changed, correct, deliver, hoursOf, oneOfEach, record } from './steps.ts'

const keepMs = 35 * 24 * hourMs
const old = at(-36 * 24)
const young = at(-34 * 24)

/** The right to deliver, which nothing takes away. */
const role: Role = { release() {}, isInPlace: true, renew: () => 'held' }

/** Keeps an outbox in order until it is as asked. */
async function keptUntil(
  { outbox, handles }: { readonly outbox: Outbox; readonly handles: Handles },
  isDone: () => Promise<boolean>,
  more: Partial<UpkeepDeps> = {},
): Promise<UpkeepNews['kind'][]> {
  const news: UpkeepNews['kind'][] = []
  const { time } = handles
  const upkeep = outbox.startUpkeep({ role, keepMs, time, report: ({ kind }) => news.push(kind), ...more })
  while (!(await isDone())) await new Promise(resolve => void setImmediate(resolve))
  await upkeep.stop()
  return news
}

const has = async (outbox: Outbox, hour = old) => (await outbox.operators.metrics(hour, hour)).length

/** Promises of `startUpkeep`. */
export function upkeepContract(newPlace: NewPlace): void {
  describe('upkeep', () => {
    it('deletes old values that are delivered or dropped, and nothing else', async () => {
      const opened = await begun(newPlace, { from: old, to: old })
      const { outbox, handles } = opened
      const many = commitRowsMax + 500
      for (const hour of [old, young]) await record(outbox, metrics(many, hour))
      const delivered = [old, young].flatMap(hour => metrics(many, hour).slice(3))
      await deliver(outbox, delivered)
      await outbox.operators.dropDue({ ids: ['vault___M2'] })
      const before = await balanceOf(outbox)
      expect(before).toMatchObject({ due: 4, delivered: delivered.length, dropped: 2 })
      expect(await keptUntil(opened, async () => (await has(outbox)) <= 2)).toEqual([])
      const again = await handles.reopened()
      expect(await has(again, young), 'but the one that was dropped').toBe(many - 1)
      expect(await again.operators.stored(metrics(4, old).slice(1))).toEqual([
        { value: 1, state: 'due' },
        undefined,
        undefined,
      ])
      expect(await balanceOf(again)).toMatchObject({ due: 4, delivered: before.delivered, enqueued: before.enqueued })
      expect(await hoursOf(again, old, old)).toMatchObject([{ state: 'collected' }])
    })

    it('keeps what waits for a person, however old', async () => {
      const opened = await begun(newPlace)
      const { outbox } = opened
      await oneOfEach(outbox)
      // Dropped ones have no row in the list.
      const isOver = async () => (await outbox.operators.metrics(anHour, anHour)).length <= 3
      await keptUntil(opened, isOver, { keepMs: -hourMs })
      const all = await outbox.operators.metrics(anHour, anHour)
      expect(all.map(({ state, reason }) => [state, reason])).toEqual([
        ['due', undefined],
        ['dead', 'refused'],
        ['held', 'odd'],
      ])
      expect(await balanceOf(outbox)).toMatchObject({ enqueued: 4, delivered: 1, due: 1, dead: 1, held: 1 })
      expect((await outbox.operators.backlog()).byProtocol.get('vault')).toMatchObject({ due: 1 })
    })

    it('deletes nothing while the clock is not trusted', async () => {
      const opened = await begun(newPlace, { from: old, to: old })
      const { outbox, handles } = opened
      await record(outbox, metrics(2, old))
      await deliver(outbox, metrics(2, old))
      let looks = 0
      const mayPrune = () => {
        looks += 1
        return false
      }
      await keptUntil({ outbox, handles }, async () => looks > 2, { mayPrune })
      expect(await has(outbox)).toBe(2)
    })

    it('lets a value be collected again that was deleted: it may have been sent', async () => {
      const opened = await begun(newPlace, { from: old, to: old })
      const { outbox } = opened
      await record(outbox, metrics(1, old))
      await deliver(outbox, metrics(1, old))
      await keptUntil(opened, async () => (await has(outbox)) < 1)
      expect(await outbox.delivery.hasDelivered(['vault']), 'it is known that one was delivered').toBe(true)
      expect(await correct(outbox, changed(metrics(1, old)))).toEqual({ added: 1, corrected: 0 })
      expect(await outbox.delivery.sentBefore(metrics(1, old))).toEqual(['unknown'])
      expect(await balanceOf(outbox)).toMatchObject({ delivered: 1, due: 1, enqueued: 2 })
    })
  })
}
