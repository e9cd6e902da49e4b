import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hourAfter, hourAt, hourFromNumber, hourNumber, hoursFrom, hourText, parseHour } from '../../src/model/hour.ts'

describe('an hour', () => {
  it('is written as the product writes it', () => {
    expect(hourText(hourAt(Date.UTC(2026, 10, 20, 13, 59, 59, 999)))).toBe('2026-11-20T13:00:00Z')
  })

  it('is read back from its own text', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 22 }), number => {
        const hour = hourFromNumber(number)
        expect(parseHour(hourText(hour))).toBe(hour)
        expect(hourNumber(hour)).toBe(number)
      }),
    )
  })

  it('may be written in another offset', () => {
    expect(hourText(parseHour('2026-11-20T18:30:00+05:30'))).toBe('2026-11-20T13:00:00Z')
  })

  it.each([
    ['2026-11-20T13:30:00Z', 'not a full hour'],
    ['2026-11-20', 'not an hour'],
    ['2026-02-29T00:00:00Z', 'not an hour'],
    ['yesterday', 'not an hour'],
    ['', 'not an hour'],
  ])('%j is refused: %s', (text, words) => {
    expect(() => parseHour(text)).toThrow(words)
  })

  it('counts ranges with both ends', () => {
    const from = parseHour('2026-11-20T22:00:00Z')
    expect(hoursFrom(from, hourAfter(from, 3)).map(hourText)).toEqual([
      '2026-11-20T22:00:00Z',
      '2026-11-20T23:00:00Z',
      '2026-11-21T00:00:00Z',
      '2026-11-21T01:00:00Z',
    ])
    expect(hoursFrom(from, from)).toEqual([from])
    expect(hoursFrom(from, hourAfter(from, -1))).toEqual([])
  })
})
