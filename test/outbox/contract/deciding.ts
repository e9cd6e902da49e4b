import { describe, expect, it } from 'vitest'
import { commitRowsMax } from '../../../src/model/limits.ts'
import type { DueSelection, Selection } from '../../../src/outbox/contract/metrics.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import type { NewPlace } from './place.ts'
import {
  at,
  balanceOf,
  begun,
  changed,
  correct,
  deliver,
  dueOf,
  held,
  nowMs,
  oneOfEach,
  plan,
  record,
  refuse,
  statesAt,
} from './steps.ts'

/** Two protocols at two hours: the first metric of each is dead, the second held, the third due. */
async function several(outbox: Outbox): Promise<void> {
  await plan(outbox, { collector: 'market/c' })
  for (const protocol of ['vault', 'market'])
    for (const hour of [anHour, at(1)]) {
      const [dead, suspect, due] = metrics(3, hour, protocol)
      if (!dead || !suspect || !due) throw new Error('three')
      const hold = { kind: 'jump', reason: `it jumped by 100 % in ${protocol}` } as const
      await record(outbox, [dead, { metric: suspect, hold }, due], { collector: `${protocol}/c` })
      await refuse(outbox, [dead], `Unknown label of ${protocol}`)
    }
}

const named = ({ id, hour }: { readonly id: string; readonly hour: number }) => `${id}${hour === anHour ? '' : ' +1'}`

const deadOrHeldSelections: readonly [title: string, selection: Selection, ids: readonly string[]][] = [
  ['all dead', { state: 'dead' }, ['market___M0', 'market___M0 +1', 'vault___M0', 'vault___M0 +1']],
  ['all held', { state: 'held' }, ['market___M1', 'market___M1 +1', 'vault___M1', 'vault___M1 +1']],
  ['a metric id', { state: 'held', ids: ['vault___M1'] }, ['vault___M1', 'vault___M1 +1']],
  ['a protocol id', { state: 'dead', ids: ['market'] }, ['market___M0', 'market___M0 +1']],
  ['either', { state: 'dead', ids: ['market', 'vault___M0'], hour: anHour }, ['market___M0', 'vault___M0']],
  ['no id', { state: 'dead', ids: [] }, []],
  ['an unknown id', { state: 'dead', ids: ['unknown', 'vault___M1'] }, []],
  ['an hour', { state: 'held', hour: at(1) }, ['market___M1 +1', 'vault___M1 +1']],
  ['a part of the reason', { state: 'dead', reason: 'uNKNOWN label of V' }, ['vault___M0', 'vault___M0 +1']],
  ['a reason with a sign of patterns', { state: 'held', reason: '100 % in m' }, ['market___M1', 'market___M1 +1']],
  ['a reason that is a pattern', { state: 'held', reason: 'it%market' }, []],
  ['all criteria', { state: 'dead', ids: ['vault'], reason: 'label', hour: at(1) }, ['vault___M0 +1']],
]

const dueSelections: readonly [title: string, selection: DueSelection, ids: readonly string[]][] = [
  ['all', {}, ['market___M2', 'market___M2 +1', 'vault___M2', 'vault___M2 +1']],
  ['a metric id', { ids: ['vault___M2'] }, ['vault___M2', 'vault___M2 +1']],
  ['a protocol id among ids', { ids: ['market'] }, ['market___M2', 'market___M2 +1']],
  ['protocols', { protocolIds: ['market', 'unknown'], hour: anHour }, ['market___M2']],
  ['no protocol', { protocolIds: [] }, []],
  ['ids and protocols', { ids: ['vault___M2'], protocolIds: ['market'] }, []],
  ['an hour', { hour: at(1) }, ['market___M2 +1', 'vault___M2 +1']],
  ['a dead metric', { ids: ['vault___M0'] }, []],
]

/** Promises of `deadOrHeld`, `release`, `drop`, `due` and `dropDue`. */
export function decidingContract(newPlace: NewPlace): void {
  describe('a person', () => {
    it.each(deadOrHeldSelections)('selects dead or held metrics by %s', async (_, selection, ids) => {
      const { outbox } = await begun(newPlace, { to: at(1) })
      await several(outbox)
      const found = await outbox.operators.deadOrHeld(selection)
      expect(found.map(named).toSorted()).toEqual(ids)
      expect(found.map(({ hour }) => hour)).toEqual(found.map(({ hour }) => hour).toSorted((a, b) => a - b))
      expect(await outbox.operators.drop(selection)).toBe(ids.length)
      expect(await outbox.operators.deadOrHeld(selection)).toEqual([])
      expect(await balanceOf(outbox)).toMatchObject({ dropped: ids.length, due: 4, enqueued: 12 - ids.length })
    })

    it.each(dueSelections)('selects due metrics by %s', async (_, selection, ids) => {
      const { outbox } = await begun(newPlace, { to: at(1) })
      await several(outbox)
      const found = await outbox.operators.due(selection)
      expect(found.map(named).toSorted()).toEqual(ids)
      expect(found.map(({ hour }) => hour)).toEqual(found.map(({ hour }) => hour).toSorted((a, b) => a - b))
      expect(await outbox.operators.dropDue(selection)).toBe(ids.length)
      expect(await outbox.operators.due(selection)).toEqual([])
      expect(await balanceOf(outbox)).toMatchObject({ dropped: ids.length, due: 4 - ids.length, dead: 4, held: 4 })
    })

    it('releases a dead or held metric, which is due again', async () => {
      const { outbox, handles } = await begun(newPlace)
      await oneOfEach(outbox)
      expect(await outbox.operators.release({ state: 'dead' }, 'locked')).toBe(1)
      expect(await outbox.operators.release({ state: 'held', hour: at(1) }, 'locked')).toBe(0)
      expect(await outbox.operators.release({ state: 'held' }, 'locked')).toBe(1)
      expect(await outbox.operators.release({ state: 'held' }, 'locked'), 'once').toBe(0)
      const again = await handles.reopened()
      expect(new Set((await dueOf(again)).map(({ id }) => id))).toEqual(
        new Set(['vault___M0', 'vault___M2', 'vault___M3']),
      )
      expect(await balanceOf(again)).toMatchObject({ enqueued: 4, due: 3, delivered: 1, dead: 0, held: 0, dropped: 1 })
      expect(await again.operators.deadOrHeld({ state: 'dead' })).toEqual([])
      await refuse(again, await dueOf(again), 'again')
      expect(await again.operators.deadOrHeld({ state: 'dead' }), 'with the new reason').toMatchObject([
        { reason: 'again' },
        { reason: 'again' },
        { reason: 'again' },
      ])
    })

    it('drops a metric for good: it is neither sent nor collected again', async () => {
      const { outbox, handles } = await begun(newPlace)
      await record(outbox, metrics(2))
      expect(await outbox.operators.dropDue({ ids: ['vault___M0'] })).toBe(1)
      const again = await handles.reopened()
      expect(await record(again, metrics(1))).toEqual({ added: 0, corrected: 0 })
      expect(await correct(again, changed(metrics(1)))).toEqual({ added: 0, corrected: 0 })
      for (const settle of [deliver, refuse]) await settle(again, metrics(1))
      expect(await again.operators.release({ state: 'dead' }, 'locked')).toBe(0)
      expect(await statesAt(again)).toEqual([[1, 'due']])
      expect(await balanceOf(again)).toMatchObject({ enqueued: 1, due: 1, delivered: 0, dead: 0, held: 0, dropped: 1 })
      expect((await again.operators.backlog()).byProtocol.get('vault')).toEqual({ due: 1, finished: 1 })
    })

    it('drops and releases more metrics than a commit holds', async () => {
      const { outbox } = await begun(newPlace)
      const many = commitRowsMax + 7
      await record(outbox, held(metrics(many)))
      expect(await outbox.operators.release({ state: 'held' }, 'locked')).toBe(many)
      expect(await outbox.operators.dropDue({ protocolIds: ['vault'] })).toBe(many)
      await record(outbox, held(metrics(many, at(1))))
      expect(await outbox.operators.drop({ state: 'held' })).toBe(many)
      expect(await balanceOf(outbox)).toMatchObject({ due: 0, held: 0, dropped: 2 * many, enqueued: 0 })
    })

    it('sees how long a metric has waited', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, held(metrics(1)))
      expect(await outbox.operators.deadOrHeld({ state: 'held' })).toMatchObject([{ sinceMs: nowMs }])
    })
  })
}
