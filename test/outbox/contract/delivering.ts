import { describe, expect, it } from 'vitest'
import type { Hour } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import { type Metric, metricId } from '../../../src/model/metric.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { emptyAt, type NewPlace } from './place.ts'
import {
  at,
  begun,
  changed,
  correct,
  deliver,
  dueOf,
  everything,
  held,
  oneOfEach,
  only,
  plan,
  record,
  refuse,
} from './steps.ts'

const offsetOf = ({ hour }: { readonly hour: Hour }) => (hour - anHour) / hourMs
const keysOf = (all: readonly Metric[]) => new Set(all.map(({ id, hour }) => `${id} ${hour}`))

/** One metric of some protocols at some hours, counted from `anHour`. */
async function filled(outbox: Outbox, offsets: readonly number[], protocols: readonly string[] = ['vault']) {
  for (const protocol of protocols) {
    await plan(outbox, { collector: `${protocol}/c`, since: at(Math.min(...offsets)) })
    for (const offset of offsets) {
      await record(outbox, metrics(1, at(offset), protocol), { collector: `${protocol}/c` })
    }
  }
}

/** Promises of `dueHour`, `due`, `stillDue`, `present`, `lastDelivered`, `hasDelivered`, `sentBefore` and `maybeSent`. */
export function deliveringContract(newPlace: NewPlace): void {
  describe('due metrics', () => {
    it('come as fresh ones first, newest first, then as the backlog, oldest first', async () => {
      const { outbox, handles } = await emptyAt(newPlace)
      await filled(outbox, [-1, -3, 0, 1, -2])
      const again = await handles.reopened()
      expect((await dueOf(again)).map(offsetOf)).toEqual([1, 0, -3, -2, -1])
      expect((await dueOf(again, { newestFirstFrom: at(-1) })).map(offsetOf)).toEqual([1, 0, -1, -3, -2])
      expect((await dueOf(again, {}, 3)).map(offsetOf)).toEqual([1, 0, -3])
      expect(await dueOf(again, {}, 0)).toEqual([])
    })

    it('come in that order across protocols, and of those asked for alone', async () => {
      const { outbox } = await emptyAt(newPlace)
      await filled(outbox, [-2, 0], ['vault', 'market', 'other'])
      await filled(outbox, [-1], ['market'])
      const due = await dueOf(outbox)
      expect(due.map(offsetOf)).toEqual([0, 0, -2, -2, -1])
      expect(keysOf(due).size).toBe(5)
      expect(new Set(due.slice(0, 2).map(({ protocolId }) => protocolId))).toEqual(new Set(['vault', 'market']))
      expect((await dueOf(outbox, { protocolIds: ['vault'] })).map(offsetOf)).toEqual([0, -2])
      expect(await dueOf(outbox, { protocolIds: ['unknown'] })).toEqual([])
      expect(await dueOf(outbox, { protocolIds: [] })).toEqual([])
    })

    it('are all found, and no more than asked for, however the ids of protocols came in turn', async () => {
      const { outbox } = await emptyAt(newPlace)
      for (const protocol of ['vault', 'market']) await plan(outbox, { collector: `${protocol}/c` })
      for (const count of [1, 4])
        for (const protocol of ['vault', 'market']) {
          await record(outbox, metrics(count, anHour, protocol), { collector: `${protocol}/c` })
        }
      const own = metrics(4, anHour, 'market')
      expect(keysOf(await dueOf(outbox, { protocolIds: ['market'] }))).toEqual(keysOf(own))
      for (const limit of [1, 2, 3, 5, 7, 8, 9]) {
        const some = await dueOf(outbox, {}, limit)
        expect(some).toHaveLength(Math.min(limit, 8))
        expect(keysOf(some).size, 'each once').toBe(some.length)
      }
    })

    it('may be wanted up to an hour later than any', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(2))
      const latest = Number.MAX_SAFE_INTEGER - (Number.MAX_SAFE_INTEGER % 3_600_000)
      expect(await dueOf(outbox, { latest: latest as Hour })).toEqual(metrics(2))
      expect(await outbox.delivery.dueHour('newest', ['vault'], latest as Hour)).toBe(anHour)
    })

    it('end at the latest hour that is wanted, fresh or not', async () => {
      const { outbox } = await emptyAt(newPlace)
      await filled(outbox, [-2, -1, 0, 1])
      for (const fresh of [-2, -1, 0, 1, 9]) {
        const due = await dueOf(outbox, { newestFirstFrom: at(fresh), latest: at(-1) })
        expect(due.map(offsetOf).toSorted()).toEqual([-1, -2])
      }
    })

    it('are those in the state due alone', async () => {
      const { outbox } = await begun(newPlace)
      await oneOfEach(outbox)
      expect(await dueOf(outbox)).toEqual(metrics(1))
    })

    it('have an oldest and a newest hour, up to a latest', async () => {
      const { outbox } = await emptyAt(newPlace)
      await filled(outbox, [-5, 0], ['vault'])
      await filled(outbox, [-3, 2], ['market'])
      const hour = async (which: 'oldest' | 'newest', protocolIds: readonly string[], latest: number) =>
        outbox.delivery.dueHour(which, protocolIds, at(latest))
      expect(await hour('oldest', ['vault', 'market'], 9)).toBe(at(-5))
      expect(await hour('newest', ['vault', 'market'], 9)).toBe(at(2))
      expect(await hour('newest', ['vault', 'market'], 1)).toBe(anHour)
      expect(await hour('oldest', ['market'], 9)).toBe(at(-3))
      expect(await hour('oldest', ['market'], -4)).toBeUndefined()
      expect(await hour('oldest', ['unknown'], 9)).toBeUndefined()
      await deliver(outbox, metrics(1, at(-5)))
      expect(await hour('oldest', ['vault'], 9)).toBe(anHour)
    })
  })

  describe('metrics that were due at a look', () => {
    it('are still due until a verdict or a person takes them out', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(6))
      const all = await outbox.delivery.stillDue(await dueOf(outbox))
      expect(keysOf(all)).toEqual(keysOf(metrics(6)))
      const [, delivered, dead, dropped, corrected] = metrics(6)
      if (!delivered || !dead || !dropped || !corrected) throw new Error('five')
      await deliver(outbox, [delivered])
      await refuse(outbox, [dead])
      await outbox.operators.dropDue({ ids: [dropped.id] })
      await correct(outbox, held(changed([corrected])))
      const still = await outbox.delivery.stillDue([
        ...metrics(6),
        ...metrics(1, at(1)),
        ...metrics(1, anHour, 'other'),
      ])
      expect(keysOf(still)).toEqual(keysOf([...metrics(1), ...metrics(6).slice(5)]))
    })

    it('are not due once something was withdrawn, in this process or another', async () => {
      const { outbox, handles } = await begun(newPlace)
      const other = await handles.another()
      await record(outbox, metrics(4))
      const withdraw = [
        () => outbox.operators.dropDue({ ids: ['vault___M0'] }),
        () => other.operators.dropDue({ ids: ['vault___M1'] }),
        () => correct(outbox, held(changed(metrics(3).slice(2)))),
        () => correct(other, held(changed(metrics(4).slice(3)))),
      ]
      for (const [index, act] of withdraw.entries()) {
        await act()
        const still = await outbox.delivery.stillDue(metrics(4).slice(index))
        expect(keysOf(still)).toEqual(keysOf(metrics(4).slice(index + 1)))
      }
    })

    it('keep what the caller knows of them', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(2))
      await outbox.operators.dropDue({ ids: ['vault___M0'] })
      const known = metrics(2).map(({ id, hour }, place) => ({ id, hour, place }))
      expect(await outbox.delivery.stillDue(known)).toEqual(known.slice(1))
      expect(await outbox.delivery.stillDue([])).toEqual([])
    })

    it('are present as they would be sent while they are due or delivered', async () => {
      const { outbox } = await begun(newPlace)
      await oneOfEach(outbox)
      const present = await Promise.all(metrics(6).map(metric => outbox.delivery.present(metric)))
      expect(present).toEqual([...metrics(2), undefined, undefined, undefined, undefined])
      expect(await outbox.delivery.present({ id: metricId('no', 'no'), hour: anHour })).toBeUndefined()
      await correct(outbox, changed(metrics(1)))
      expect((await outbox.delivery.present(only(metrics(1))))?.value).toBe(99)
    })
  })

  describe('what was delivered', () => {
    it('has a newest metric of some protocols within the day up to an hour', async () => {
      const { outbox } = await emptyAt(newPlace)
      await filled(outbox, [-30, -2, 0], ['vault', 'market'])
      const last = async (protocols: readonly string[], offset: number) => {
        const metric = await outbox.delivery.lastDelivered(protocols, at(offset))
        return metric && `${metric.protocolId} ${offsetOf(metric)}`
      }
      expect(await last(['vault', 'market'], 0)).toBeUndefined()
      await deliver(outbox, [...metrics(1, at(-30)), ...metrics(1, at(-2)), ...metrics(1, anHour, 'market')])
      expect(await last(['vault'], 0)).toBe('vault -2')
      expect(await last(['vault'], 22)).toBe('vault -2')
      expect(await last(['vault'], 23)).toBeUndefined()
      expect(await last(['vault'], -3)).toBeUndefined()
      expect(await last(['vault'], -6)).toBe('vault -30')
      expect(await last(['vault', 'market'], 0)).toBe('market 0')
      expect(await last(['unknown'], 0)).toBeUndefined()
      expect(await outbox.delivery.lastDelivered(['vault'], at(-2))).toEqual(only(metrics(1, at(-2))))
    })

    it('is known of a protocol for good', async () => {
      const { outbox, handles } = await begun(newPlace)
      await record(outbox, metrics(2))
      expect(await outbox.delivery.hasDelivered(['vault'])).toBe(false)
      await refuse(outbox, metrics(1))
      expect(await outbox.delivery.hasDelivered(['vault'])).toBe(false)
      await deliver(outbox, metrics(2).slice(1))
      const { delivery } = await handles.reopened()
      expect(await delivery.hasDelivered(['vault', 'market'])).toBe(true)
      expect(await delivery.hasDelivered(['market'])).toBe(false)
      expect(await delivery.hasDelivered([])).toBe(false)
    })
  })

  describe('whether a metric was sent before', () => {
    it('is answered in the order asked: not before this process sends what it has enqueued', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(3))
      expect(await outbox.delivery.sentBefore(metrics(2))).toEqual(['no', 'no'])
      outbox.delivery.maybeSent(metrics(1))
      expect(await outbox.delivery.sentBefore(metrics(2).toReversed())).toEqual(['no', 'unknown'])
      await correct(outbox, changed(metrics(2)))
      expect(await outbox.delivery.sentBefore(metrics(3))).toEqual(['corrected', 'corrected', 'no'])
      expect(await outbox.delivery.sentBefore(metrics(1, anHour, 'other'))).toEqual(['unknown'])
    })

    it('is unknown once all may have been sent', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(2))
      outbox.delivery.maybeSent('all')
      expect(await outbox.delivery.sentBefore(metrics(2))).toEqual(['unknown', 'unknown'])
      await record(outbox, metrics(1, at(1)))
      expect(await outbox.delivery.sentBefore(metrics(1, at(1)))).toEqual(['no'])
    })

    it('is unknown of what another or an earlier process has enqueued', async () => {
      const { outbox, handles } = await begun(newPlace)
      await record(outbox, metrics(1))
      const other = await handles.another()
      expect(await other.delivery.sentBefore(metrics(1))).toEqual(['unknown'])
      await correct(other, changed(metrics(1)))
      const again = await handles.reopened()
      expect(await again.delivery.sentBefore(metrics(1))).toEqual(['corrected'])
    })

    it('is not a correction once the new value is delivered, dead or dropped', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(4))
      await correct(outbox, changed(metrics(4)))
      const [delivered, dead, dropped, suspect] = changed(metrics(4))
      if (!delivered || !dead || !dropped || !suspect) throw new Error('four')
      await correct(outbox, held(changed([suspect], 3)))
      expect(await outbox.delivery.sentBefore(metrics(4))).toEqual(Array(4).fill('corrected'))
      await deliver(outbox, [delivered])
      await refuse(outbox, [dead])
      await outbox.operators.dropDue({ ids: [dropped.id] })
      await outbox.operators.drop({ state: 'held' })
      expect(await outbox.delivery.sentBefore(metrics(4))).not.toContain('corrected')
      await outbox.operators.release({ state: 'dead' }, 'locked')
      expect(await outbox.delivery.sentBefore([dead]), 'its first value may be on its way').toEqual(['corrected'])
    })
  })

  describe('the counts', () => {
    it('balance: what was enqueued is delivered, dead, held or due', async () => {
      const { outbox, handles } = await begun(newPlace)
      await oneOfEach(outbox)
      await plan(outbox, { collector: 'market/c' })
      await record(outbox, metrics(3, anHour, 'market'), { collector: 'market/c' })
      await outbox.delivery.saveDestination('b', { notBeforeMs: 0, probeAtMs: 0, failures: 1, waiting: 'b is down' })
      await outbox.delivery.saveDestination('a', { notBeforeMs: 0, probeAtMs: 0, failures: 1, waiting: 'a is down' })
      const { delivery, operators, intake, status } = await handles.reopened()
      const backlog = await delivery.backlog()
      expect(backlog.balance).toMatchObject({ enqueued: 7, delivered: 1, dead: 1, held: 1, due: 4, dropped: 1 })
      expect(backlog.byProtocol.get('vault')).toEqual({ due: 1, finished: 3 })
      expect(backlog.byProtocol.get('market')).toEqual({ due: 3, finished: 0 })
      expect(backlog.byProtocol.get('unknown')).toBeUndefined()
      expect(backlog.waiting.map(({ waiting }) => waiting)).toEqual(['a is down', 'b is down'])
      expect(await operators.backlog()).toEqual(backlog)
      expect(await intake.backlog()).toEqual(backlog)
      const wanted = { collectors: [], protocolIds: [], destinations: [], hour: anHour }
      expect((await status.overview(wanted)).backlog).toEqual(backlog)
    })

    it('are zero at first', async () => {
      const { outbox } = await emptyAt(newPlace)
      expect(await outbox.delivery.backlog()).toEqual({
        balance: { enqueued: 0, delivered: 0, dead: 0, held: 0, due: 0, dropped: 0, private: 0 },
        byProtocol: new Map(),
        waiting: [],
      })
      expect(await outbox.delivery.due(everything, 9)).toEqual([])
    })
  })
}
