import { describe, expect, it } from 'vitest'
import { VerdictScheduler } from '../../../src/delivery/record/verdict-scheduler.ts'
import { nextTurn } from '../../../src/edge/next-turn.ts'
import { commitRowsMax } from '../../../src/model/limits.ts'
import type { MetricVerdicts } from '../../../src/outbox/contract/outcome.ts'
import { metrics } from '../../support/metrics.ts'

const verdictsOn = (count: number): MetricVerdicts => ({ delivered: metrics(count), dead: [], warnings: [] })
const rowsOf = ({ delivered, dead, warnings }: MetricVerdicts) => delivered.length + dead.length + warnings.length

describe('verdicts', () => {
  it('of the same turn share a commit, and none is there before it', async () => {
    const recorded: MetricVerdicts[] = []
    const verdicts = new VerdictScheduler(async one => void recorded.push(one))
    const dead = metrics(1).map(metric => ({ metric, reason: 'odd', attempts: 1 }))
    const warnings = [{ text: 'long' }]
    const all = [
      verdicts.record(verdictsOn(3)),
      verdicts.record({ delivered: [], dead, warnings }),
      verdicts.record(verdictsOn(2)),
    ]
    expect(recorded).toEqual([])
    await Promise.all(all)
    expect(recorded).toEqual([{ delivered: [...metrics(3), ...metrics(2)], dead, warnings }])
    await verdicts.record(verdictsOn(1))
    expect(recorded).toHaveLength(2)
  })

  it('wait for those that are expected soon, and no longer', async () => {
    const [recorded, waited]: [MetricVerdicts[], number[]] = [[], []]
    let areExpected = true
    const verdicts = new VerdictScheduler(
      async one => void recorded.push(one),
      turns => {
        waited.push(turns)
        return areExpected
      },
    )
    const first = verdicts.record(verdictsOn(1))
    for (let turns = 0; turns < 10; turns += 1) await nextTurn()
    expect(recorded).toEqual([])
    expect(waited.slice(0, 10)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    const second = verdicts.record(verdictsOn(2))
    areExpected = false
    await Promise.all([first, second])
    expect(recorded.map(rowsOf)).toEqual([3])
    const turns: string[] = []
    setImmediate(() => turns.push('next'))
    await verdicts.record(verdictsOn(1))
    expect([recorded.map(rowsOf), turns]).toEqual([[3, 1], []])
  })

  it('are recorded as soon as the last of those expected comes, before the next turn', async () => {
    const recorded: MetricVerdicts[] = []
    let expected = 3
    const verdicts = new VerdictScheduler(
      async one => void recorded.push(one),
      () => expected > 0,
    )
    const record = (count: number) => {
      expected -= 1
      return verdicts.record(verdictsOn(count))
    }
    const all = [record(1)]
    await nextTurn()
    all.push(record(2))
    for (let tasks = 0; tasks < 20; tasks += 1) await Promise.resolve()
    expect(recorded).toEqual([])
    all.push(record(4))
    for (let tasks = 0; tasks < 20; tasks += 1) await Promise.resolve()
    expect(recorded.map(rowsOf)).toEqual([7])
    await Promise.all(all)
  })

  it('are recorded when those that were expected do not come', async () => {
    const recorded: MetricVerdicts[] = []
    const verdicts = new VerdictScheduler(
      async one => void recorded.push(one),
      () => true,
    )
    await verdicts.record(verdictsOn(1))
    expect(recorded.map(rowsOf)).toEqual([1])
  })

  it('never make a commit larger than it may be', async () => {
    const recorded: MetricVerdicts[] = []
    const verdicts = new VerdictScheduler(async one => void recorded.push(one))
    await Promise.all(Array.from({ length: 64 }, () => verdicts.record(verdictsOn(100))))
    expect(recorded.map(rowsOf).reduce((sum, rows) => sum + rows)).toBe(6_400)
    expect(Math.max(...recorded.map(rowsOf))).toBe(commitRowsMax)
    expect(recorded).toHaveLength(7)
  })

  it('that cannot be recorded reject, and only they', async () => {
    let commits = 0
    const verdicts = new VerdictScheduler(async () => {
      commits += 1
      if (commits === 1) throw new Error('the disk is full')
    })
    const all = await Promise.allSettled([
      verdicts.record(verdictsOn(600)),
      verdicts.record(verdictsOn(400)),
      verdicts.record(verdictsOn(1)),
    ])
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
  })
})
