import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffMs, retryAfterInstantMs } from '../../src/model/backoff.ts'

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
})

describe('Retry-After', () => {
  const nowMs = Date.UTC(2026, 10, 20, 13, 0, 0)
  it.each([
    ['120', nowMs + 120_000],
    [' 0 ', nowMs],
    ['Fri, 20 Nov 2026 13:05:00 GMT', nowMs + 300_000],
    ['Fri, 20 Nov 2026 12:00:00 GMT', nowMs],
    ['soon', undefined],
    ['-5', undefined],
    ['1.5', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j is %s', (header, expected) => {
    expect(retryAfterInstantMs(header, nowMs)).toBe(expected)
  })
})
