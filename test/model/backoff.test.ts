import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffMs, isYetToCome } from '../../src/model/backoff.ts'

describe('backoff', () => {
  it('is anything from 0 up to the doubled base, never above the cap', () => {
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), chance, (attempt, drawn) => {
        const waitMs = backoffMs({ baseMs: 500, capMs: 30_000 }, attempt, drawn)
        expect(waitMs).toBeGreaterThanOrEqual(0)
        expect(waitMs).toBeLessThan(Math.min(30_000, 500 * 2 ** (attempt - 1)))
      }),
    )
  })

  it('is spread over the whole of it: the jitter is full', () => {
    const waitMs = (chance: number) => backoffMs({ baseMs: 500, capMs: 30_000 }, 3, chance)
    expect([0, 0.25, 0.5, 0.999].map(waitMs)).toEqual([0, 500, 1000, 1998])
  })
})

describe('a wait', () => {
  it.each([
    ['not yet over', 1_500, true],
    ['as long as it can be', 2_000, true],
    ['over', 1_000, false],
    ['long over', 0, false],
    ['longer than it can be: the clock was set back', 2_001, false],
  ])('that is %s', (_, instantMs, isToCome) => {
    expect(isYetToCome(instantMs, 1_000, 1_000)).toBe(isToCome)
  })
})
