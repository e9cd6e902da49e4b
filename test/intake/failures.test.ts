import { describe, expect, it } from 'vitest'
import { FailureReasons } from '../../src/intake/backfill/work.ts'
import { Fault } from '../../src/model/fault.ts'
import { type Hour, hourAfter, hourAt } from '../../src/model/hour.ts'

const first = hourAt(Date.UTC(2026, 10, 1))
const at = (hours: number): Hour => hourAfter(first, hours)
const silent = (hour: number) => new Fault('chain-unreachable', `no answer at block ${hour}`)

describe('what a backfill could not read', () => {
  it('is counted by its reason, with the hours in a row, in whatever order they fail', () => {
    const failures = new FailureReasons()
    for (const hour of [3, 4, 5, 9, 8]) failures.add('a/c', at(hour), silent(hour))
    failures.add('b/c', at(4), silent(4))
    failures.add('b/c', at(5), new Fault('collector-threw', 'it broke'))
    expect(failures.reasons).toEqual([
      expect.objectContaining({
        count: 6,
        spans: [
          { collector: 'a/c', from: at(3), to: at(5) },
          { collector: 'a/c', from: at(8), to: at(9) },
          { collector: 'b/c', from: at(4), to: at(4) },
        ],
      }),
      expect.objectContaining({ count: 1, spans: [{ collector: 'b/c', from: at(5), to: at(5) }] }),
    ])
  })

  it('takes no more memory for a scattered year than for a hundred hours', () => {
    const failures = new FailureReasons()
    for (let hour = 0; hour < 8_760; hour += 3) failures.add('a/c', at(hour), silent(hour))
    expect(failures.reasons[0]?.count).toBe(2_920)
    expect(failures.reasons[0]?.spans).toHaveLength(100)
  })
})
