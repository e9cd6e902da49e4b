import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { probeOf } from '../../../src/delivery/plan.ts'
import { probeMetricsMax } from '../../../src/model/limits.ts'
import { metrics } from '../../support/metrics.ts'

const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

describe('a probe', () => {
  it('is the first few that are due after a first failure', () => {
    const due = metrics(500)
    expect(probeOf(due, 1, 0.9)).toEqual(due.slice(0, probeMetricsMax))
    expect(probeOf(due.slice(0, 3), 1, 0.9)).toEqual(due.slice(0, 3))
    expect(probeOf([], 1, 0.9)).toBeUndefined()
  })

  it('is of fewer with each failure, down to one', () => {
    const sizes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 1_000].map(failures => probeOf(metrics(500), failures, 0.5)?.length)
    expect(sizes).toEqual([10, 5, 5, 2, 2, 1, 1, 1, 1, 1, 1])
  })

  it('is small, and of neighbours among what is due, whatever the failures and the chance', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 1, max: 2_000 }),
        chance,
        (count, failures, drawn) => {
          const due = metrics(count)
          const probe = probeOf(due, failures, drawn) ?? []
          expect(probe.length).toBeGreaterThan(0)
          expect(probe.length).toBeLessThanOrEqual(probeMetricsMax)
          const start = probe[0] ? due.indexOf(probe[0]) : -1
          expect(probe).toEqual(due.slice(start, start + probe.length))
        },
      ),
    )
  })

  it('can be any of them in the end, so that it does not hang on a few the service fails on', () => {
    const due = metrics(50)
    const starts = Array.from({ length: 50 }, (_, place) => probeOf(due, 8, (place + 0.5) / 50)?.[0])
    expect(starts).toEqual(due)
  })
})
