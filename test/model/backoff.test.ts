import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffMs, isYetToCome, retryAfterInstantMs } from '../../src/model/backoff.ts'
import { retryAfterMsMax } from '../../src/model/limits.ts'

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

describe('Retry-After', () => {
  const nowMs = Date.UTC(2026, 10, 20, 13, 0, 0)
  it.each([
    ['120', nowMs + 120_000],
    [' 0 ', nowMs],
    ['0030', nowMs + 30_000],
    ['99999999999999999999', nowMs + retryAfterMsMax],
    ['Fri, 20 Nov 2026 13:05:00 GMT', nowMs + 300_000],
    ['Friday, 20-Nov-26 13:05:00 GMT', nowMs + 300_000],
    ['Fri, 20 Nov 2026 12:00:00 GMT', nowMs],
    ['Fri, 20 Nov 2099 12:00:00 GMT', nowMs + retryAfterMsMax],
    ['soon', undefined],
    ['-5', undefined],
    ['+5', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['120, 60', undefined],
    ['2026-11-20T13:05:00Z', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j is %s', (header, expected) => {
    expect(retryAfterInstantMs(header, nowMs)).toBe(expected)
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
