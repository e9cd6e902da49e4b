import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { clockSkewMs } from '../../src/model/answer-times.ts'

const atMs = Date.UTC(2026, 10, 20, 13, 0, 0)
/** As a server writes it: whole seconds, the rest cut off. */
const dateOf = (instantMs: number) => new Date(instantMs).toUTCString()

describe('the skew of the service’s clock', () => {
  it.each([
    ['none, answered within the second', dateOf(atMs), atMs + 100, atMs + 200, 0],
    ['none, answered over the turn of a second', dateOf(atMs + 1_000), atMs + 900, atMs + 1_100, 0],
    ['none, a second that has just ended', dateOf(atMs), atMs + 999, atMs + 999, 0],
    ['ahead by a minute', dateOf(atMs + 60_000), atMs, atMs + 50, 59_950],
    ['behind by ten minutes', dateOf(atMs - 600_000), atMs, atMs + 50, -599_001],
    ['behind by a little more than can be none', dateOf(atMs), atMs + 1_500, atMs + 1_600, -501],
    ['a slow answer explains much', dateOf(atMs + 20_000), atMs, atMs + 30_000, 0],
  ])('%s', (_, header, sentMs, receivedMs, skewMs) => {
    expect(clockSkewMs(header, { sentMs, receivedMs })).toBe(skewMs)
  })

  it.each([
    ['no date', undefined],
    ['an empty one', ''],
    ['a number', '5'],
    ['a year', '2026'],
    ['words', 'in 5 minutes'],
    ['another notation', '2026-11-20T13:00:00Z'],
    ['a date that does not exist', 'Fri, 41 Nov 2026 13:00:00 GMT'],
  ])('is not read from %s', (_, header) => {
    expect(clockSkewMs(header, { sentMs: atMs, receivedMs: atMs + 50 })).toBeUndefined()
  })

  it('is not read when this machine’s clock was set back while the request was on its way', () => {
    expect(clockSkewMs(dateOf(atMs), { sentMs: atMs, receivedMs: atMs - 60_000 })).toBeUndefined()
  })

  it('is no further from the true one than the header and the journey leave open, and 0 wherever 0 explains it', () => {
    const hourMs = 3_600_000
    fc.assert(
      fc.property(
        fc.integer({ min: -48 * hourMs, max: 48 * hourMs }),
        fc.integer({ min: 0, max: 3 * hourMs }),
        fc.integer({ min: 0, max: 30_000 }),
        fc.integer({ min: 0, max: 30_000 }),
        (trueMs, sinceMs, thereMs, backMs) => {
          const sentMs = atMs + sinceMs
          const answeredMs = sentMs + thereMs
          const receivedMs = answeredMs + backMs
          const header = dateOf(answeredMs + trueMs)
          const skewMs = clockSkewMs(header, { sentMs, receivedMs })
          if (skewMs === undefined) throw new Error('a date that was not read')
          // Whatever was possible lies between these two, the true one among it.
          const [least, most] = [Date.parse(header) - receivedMs, Date.parse(header) + 999 - sentMs]
          expect(least <= trueMs && trueMs <= most).toBe(true)
          expect(least <= skewMs && skewMs <= most).toBe(true)
          expect(Math.abs(skewMs)).toBeLessThanOrEqual(Math.abs(trueMs))
          if (least <= 0 && 0 <= most) expect(skewMs).toBe(0)
        },
      ),
    )
  })
})
