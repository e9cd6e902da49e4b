import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hourPlanOf } from '../../../../src/intake/hour-plan.ts'
import { Fault } from '../../../../src/model/fault.ts'
import { type Hour, hourAfter } from '../../../../src/model/hour.ts'
import { commitRowsMax, hourMs } from '../../../../src/model/limits.ts'
import { planHours } from '../../../../src/outbox/sqlite/planning/plan-hours.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour } from '../../../support/metrics.ts'

interface Stage {
  readonly outbox: SqliteOutbox
  plan(current: Hour, parts?: { readonly history?: boolean; readonly since?: Hour }): Promise<number>
  /** Hours by their state, counted from `anHour`. */
  states(): Record<string, number[]>
}

function stage(): Stage {
  const outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
  onTestFinished(() => outbox.close())
  return {
    outbox,
    plan: async (current, { history = true, since } = {}) => {
      const collector = { id: 'vault/a', ...(since !== undefined && { since }) }
      const plan = hourPlanOf({ collector, history, current, catchUpMs: 168 * hourMs })
      return plan ? planHours(outbox, plan) : 0
    },
    states() {
      const all = outbox.expectedHours.states('vault/a', 3_600_000 as Hour, hourAfter(anHour, 1_000_000))
      const rows = [...all].map(([hour, state]) => ({ state, offset: (hour - anHour) / hourMs }))
      const byState = Map.groupBy(rows, ({ state }) => state)
      return Object.fromEntries([...byState].map(([state, some]) => [state, some.map(({ offset }) => offset)]))
    },
  }
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

describe('planning the hours', () => {
  it('moves the start of a known collector back for a configured hour alone', async () => {
    const { plan, outbox, states } = stage()
    await plan(anHour)
    outbox.expectedHours.markCollected('vault/a', anHour)
    await plan(hourAfter(anHour, -24))
    await plan(anHour)
    expect(outbox.expectedHours.since('vault/a')).toBe(anHour)
    expect(states()).toEqual({ collected: [0] })
    await plan(anHour, { since: hourAfter(anHour, -2) })
    expect(outbox.expectedHours.since('vault/a')).toBe(hourAfter(anHour, -2))
    expect(states()).toEqual({ due: [-2, -1], collected: [0] })
  })

  it('takes back a start, and hours, that are yet to come: they are of a clock that was ahead', async () => {
    const { plan, outbox, states } = stage()
    await plan(hourAfter(anHour, 50 * 365 * 24))
    await plan(anHour)
    expect(outbox.expectedHours.since('vault/a')).toBe(anHour)
    expect(states()).toEqual({ due: [0] })
    await plan(hourAfter(anHour, 30 * 24))
    expect(states()['gap']).toHaveLength(30 * 24 - 168)
    await plan(anHour)
    expect(states()).toEqual({ due: [0] })
  })

  it('makes hours due again that are not too old any more, and leaves other gaps as they are', async () => {
    const { plan, outbox, states } = stage()
    await plan(anHour)
    await plan(hourAfter(anHour, 5))
    outbox.expectedHours.markGap('vault/a', hourAfter(anHour, 2), new Fault('chain-state-missing', 'no state'))
    await plan(hourAfter(anHour, 30 * 24))
    expect(states()['due']).toEqual(range(30 * 24 - 168, 30 * 24))
    await plan(hourAfter(anHour, 6))
    expect(states()).toEqual({ due: [0, 1, 3, 4, 5, 6], gap: [2] })
  })

  it('makes the current hour of a collector without history due again, and no other', async () => {
    const { plan, states } = stage()
    await plan(anHour, { history: false })
    await plan(hourAfter(anHour, 3), { history: false })
    expect(states()).toEqual({ gap: [0, 1, 2], due: [3] })
    await plan(hourAfter(anHour, 2), { history: false })
    expect(states()).toEqual({ gap: [0, 1], due: [2] })
  })

  it('makes rows of years in commits of bounded size', async () => {
    const { plan, outbox } = stage()
    const sizes: number[] = []
    const expected = outbox.expectedHours.expect.bind(outbox.expectedHours)
    outbox.expectedHours.expect = (id, hours) => {
      sizes.push(hours.length)
      expected(id, hours)
    }
    await plan(anHour)
    await plan(hourAfter(anHour, 2 * 365 * 24))
    expect(Math.max(...sizes)).toBe(commitRowsMax)
    expect(sizes.reduce((a, b) => a + b)).toBe(2 * 365 * 24 + 1)
  })
})
