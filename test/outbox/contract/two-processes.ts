import { describe, expect, it } from 'vitest'
import { commitRowsMax } from '../../../src/model/limits.ts'
import { type Metric, metricId } from '../../../src/model/metric.ts'
import type { Accepted } from '../../../src/outbox/contract/metrics.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import type { NewPlace } from './place.ts'
import {
  at,
  balanceOf,
  begun,
  changed,
  collector,
  correct,
  deliver,
  dueOf,
  held,
  hoursOf,
  only,
  plan,
  record,
  refuse,
  statesAt,
} from './steps.ts'

const id = metricId('vault', 'M0')
const described = ({ value, unit }: Metric) => `${value} ${unit}`

/** An outbox as a daemon has it open, and a command. */
async function both(newPlace: NewPlace): Promise<{ readonly daemon: Outbox; readonly command: Outbox }> {
  const { outbox: daemon, handles } = await begun(newPlace)
  return { daemon, command: await handles.another() }
}

/** Values in cents, as the daemon holds them. */
const inCents = (count: number): Accepted[] =>
  metrics(count, at(1)).map(metric => ({
    metric: { ...metric, value: metric.value * 100, unit: 'cents' },
    hold: { kind: 'unit', reason: 'another unit' },
  }))

/** Promises that hold while two processes have the outbox open. */
export function twoProcessesContract(newPlace: NewPlace): void {
  describe('a unit that a command changes', () => {
    it('is the unit that the daemon reads from then on', async () => {
      const { daemon, command } = await both(newPlace)
      await record(daemon, metrics(2))
      await record(daemon, inCents(2))
      expect((await dueOf(daemon)).map(described), 'read once').toEqual(['0 USD', '1 USD'])
      await command.operators.release({ state: 'held' }, 'changed')
      expect((await dueOf(daemon)).map(described).toSorted()).toEqual(['0 USD', '0 cents', '1 USD', '100 cents'])
      expect(only(await daemon.intake.pasts([{ id, hour: at(2) }]))?.unit).toBe('cents')
    })

    it('is not undone by a value that was judged before, and is recorded after', async () => {
      const { daemon, command } = await both(newPlace)
      await record(daemon, metrics(2))
      await record(daemon, inCents(1))
      await command.operators.release({ state: 'held' }, 'changed')
      await record(daemon, metrics(2, at(2)))
      expect((await dueOf(daemon)).map(described).toSorted()).toEqual(['0 USD', '0 cents', '1 USD', '1 USD'])
      expect(await command.operators.deadOrHeld({ state: 'held' })).toEqual([
        expect.objectContaining({ id, hour: at(2), kind: 'unit', unit: 'USD', value: 0 }),
      ])
      expect(only(await daemon.intake.pasts([{ id, hour: at(3) }]))?.unit).toBe('cents')
    })

    it('is not undone by an hour that is read again meanwhile', async () => {
      const { daemon, command } = await both(newPlace)
      await record(daemon, metrics(1))
      await record(daemon, inCents(1))
      await command.operators.release({ state: 'held' }, 'changed')
      await correct(daemon, changed(metrics(1, at(1)), 7))
      expect((await dueOf(daemon)).map(described)).toEqual(['0 USD'])
      expect(await command.operators.deadOrHeld({ state: 'held' })).toEqual([
        expect.objectContaining({ hour: at(1), kind: 'unit', unit: 'USD', value: 7 }),
      ])
      expect(only(await daemon.intake.pasts([{ id, hour: at(2) }]))?.unit).toBe('cents')
    })

    it('applies to the next value, by a command without a value', async () => {
      const { daemon, command } = await both(newPlace)
      await record(daemon, metrics(1))
      await daemon.intake.pasts(metrics(1))
      await command.operators.changeUnit({ id, hour: at(1), unit: 'cents' })
      await record(daemon, [{ ...only(metrics(1, at(1))), unit: 'cents' }])
      expect((await dueOf(command)).map(described).toSorted()).toEqual(['0 USD', '0 cents'])
    })
  })

  describe('two processes', () => {
    it('that change a unit in turn leave the last one', async () => {
      const { daemon, command } = await both(newPlace)
      await record(daemon, metrics(1))
      expect(await command.intake.pasts(metrics(1)), 'looked at before').toEqual([{ unit: 'USD' }])
      await daemon.operators.changeUnit({ id, hour: at(1), unit: 'cents' })
      await command.operators.changeUnit({ id, hour: at(1), unit: 'USD' })
      for (const outbox of [daemon, command]) {
        expect(only(await outbox.intake.pasts([{ id, hour: at(2) }]))?.unit).toBe('USD')
      }
    })

    it('know what the other has enqueued, also an id that they have looked for', async () => {
      const { daemon, command } = await both(newPlace)
      expect(await daemon.intake.pasts(metrics(1))).toEqual([undefined])
      expect(await dueOf(daemon)).toEqual([])
      await record(command, metrics(1))
      expect(await daemon.intake.pasts(metrics(1, at(1)))).toMatchObject([{ previous: { value: 0 } }])
      expect(await dueOf(daemon)).toEqual(metrics(1))
      await deliver(daemon, metrics(1))
      expect(await statesAt(command)).toEqual([[0, 'delivered']])
    })

    it('that record one hour enqueue each metric once', async () => {
      const { daemon, command } = await both(newPlace)
      const many = commitRowsMax + 500
      const [one, other] = await Promise.all([
        record(daemon, metrics(many)),
        record(command, changed(metrics(many), -1).toReversed()),
      ])
      expect(one.added + other.added).toBe(many)
      expect(await balanceOf(daemon)).toMatchObject({
        enqueued: many,
        due: many,
        delivered: 0,
        dead: 0,
        held: 0,
        dropped: 0,
      })
      expect(await hoursOf(command)).toMatchObject([{ collector, state: 'collected', attempts: 1 }])
      expect((await statesAt(daemon)).filter(([value]) => value === -1)).toHaveLength(other.added)
    })

    it('that plan a collector expect each hour once', async () => {
      const { daemon, command } = await both(newPlace)
      const tooOldAt = { current: at(9), oldest: at(3) }
      const gaps = await Promise.all([plan(daemon, tooOldAt), plan(command, tooOldAt)])
      expect(gaps.toSorted()).toEqual([0, 3])
      const states = (await hoursOf(daemon, at(-9), at(19))).map(({ state }) => state)
      expect(states).toEqual([...Array(3).fill('gap'), ...Array(7).fill('due')])
    })

    it('that record verdicts on the same metrics count each once', async () => {
      const { daemon, command } = await both(newPlace)
      await record(daemon, metrics(10))
      await Promise.all([deliver(daemon, metrics(10)), refuse(command, metrics(8).toReversed())])
      const { delivered, dead, due, enqueued } = await balanceOf(daemon)
      expect([delivered + dead, due, enqueued]).toEqual([10, 0, 10])
      expect(await command.operators.deadOrHeld({ state: 'dead' })).toHaveLength(dead)
      await Promise.all([deliver(command, metrics(10)), deliver(daemon, metrics(10))])
      expect(await balanceOf(command)).toMatchObject({ delivered, dead })
    })

    it.each(['drop', 'release'] as const)('where one decides to %s what the other releases and delivers', async how => {
      const { daemon, command } = await both(newPlace)
      const many = commitRowsMax + 5
      await record(daemon, metrics(many))
      await refuse(daemon, metrics(many))
      const decided =
        how === 'drop'
          ? command.operators.drop({ state: 'dead' })
          : command.operators.release({ state: 'dead' }, 'locked')
      const released = await daemon.operators.release({ state: 'dead' }, 'locked')
      const due = await dueOf(daemon)
      await deliver(daemon, due)
      const taken = await decided
      expect(taken + released).toBe(many)
      const { delivered, dropped, ...rest } = await balanceOf(command)
      expect(delivered + dropped + rest.due).toBe(many)
      expect(rest.dead).toBe(0)
      expect(dropped).toBe(how === 'drop' ? taken : 0)
      expect(delivered).toBe(due.length)
    })

    it('where one drops what the other sends: the answer changes nothing', async () => {
      const { daemon, command } = await both(newPlace)
      await record(daemon, metrics(3))
      const sent = await dueOf(daemon)
      expect(await command.operators.dropDue({ ids: ['vault___M0'] })).toBe(1)
      expect(await command.operators.dropDue({ ids: ['vault___M0'] }), 'once').toBe(0)
      await deliver(daemon, sent)
      expect(await balanceOf(daemon)).toMatchObject({ dropped: 1, delivered: 2, due: 0, enqueued: 2 })
      expect(await dueOf(command)).toEqual([])
    })

    it('where one corrects what the other sends and then holds: the old answer delivers nothing', async () => {
      const { daemon, command } = await both(newPlace)
      await record(daemon, metrics(2))
      const sent = await dueOf(daemon)
      await correct(command, changed(metrics(2), 3))
      await correct(command, held(changed(metrics(2), 4)))
      await deliver(daemon, sent)
      await deliver(daemon, changed(metrics(2), 4))
      expect(await statesAt(daemon), 'an answer does not settle what is held').toEqual([
        [4, 'held'],
        [4, 'held'],
      ])
      await command.operators.release({ state: 'held' }, 'locked')
      await deliver(daemon, changed(metrics(2), 3))
      expect((await dueOf(daemon)).map(({ value }) => value)).toEqual([4, 4])
      await deliver(daemon, await dueOf(daemon))
      expect(await balanceOf(command)).toMatchObject({ delivered: 2, due: 0, held: 0 })
    })

    it('of which one has closed leave the other at work', async () => {
      const { daemon, command } = await both(newPlace)
      await command.close()
      await expect(record(command, metrics(1))).rejects.toThrow()
      expect(await record(daemon, metrics(1))).toEqual({ added: 1, corrected: 0 })
      expect(await balanceOf(daemon)).toMatchObject({ due: 1, enqueued: 1 })
      expect(await hoursOf(daemon, anHour, anHour)).toMatchObject([{ state: 'collected' }])
    })
  })
}
