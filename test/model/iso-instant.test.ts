import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseIsoInstant } from '../../src/model/hour.ts'

describe('an ISO 8601 instant', () => {
  it.each([
    ['RFC 3339 text', '2026-11-20T13:00:00.5+01:00', '2026-11-20T12:00:00.500Z'],
    ['no seconds', '2026-11-20T13:00Z', '2026-11-20T13:00:00.000Z'],
    ['no minutes', '2026-11-20T13Z', '2026-11-20T13:00:00.000Z'],
    ['the basic format', '20261120T130005Z', '2026-11-20T13:00:05.000Z'],
    ['the basic format without seconds', '20261120T1300+0130', '2026-11-20T11:30:00.000Z'],
    ['the basic format without minutes', '20261120T13Z', '2026-11-20T13:00:00.000Z'],
    ['an offset of hours alone', '2026-11-20T13:00:00+01', '2026-11-20T12:00:00.000Z'],
    ['an offset without a colon', '2026-11-20T13:00:00-0530', '2026-11-20T18:30:00.000Z'],
    ['a typographic minus sign', '2026-11-20T13:00:00\u221205:30', '2026-11-20T18:30:00.000Z'],
    ['a comma before the fraction', '2026-11-20T13:00:00,25Z', '2026-11-20T13:00:00.250Z'],
    ['a fraction of a minute', '2026-11-20T13:30.5Z', '2026-11-20T13:30:30.000Z'],
    ['a fraction of an hour', '2026-11-20T13,75Z', '2026-11-20T13:45:00.000Z'],
    ['a week date', '2026-W47-5T13:00:00Z', '2026-11-20T13:00:00.000Z'],
    ['a week date of another calendar year', '2026-W01-1T00:00Z', '2025-12-29T00:00:00.000Z'],
    ['week 53', '2026W534T00Z', '2026-12-31T00:00:00.000Z'],
    ['a day of the year', '2026-324T13:00Z', '2026-11-20T13:00:00.000Z'],
    ['the last day of a leap year', '2024366T00Z', '2024-12-31T00:00:00.000Z'],
    ['the end of a day', '2026-11-20T24:00:00Z', '2026-11-21T00:00:00.000Z'],
    ['lower case letters', '2026-w47-5t13:00z', '2026-11-20T13:00:00.000Z'],
  ])('may have %s', (_what, text, utc) => {
    expect(new Date(parseIsoInstant(text) ?? Number.NaN).toISOString()).toBe(utc)
  })

  it.each([
    ['no offset', '2026-11-20T13:00'],
    ['no time', '2026-11-20'],
    ['no time, basic', '20261120'],
    ['a space for the T', '2026-11-20 13:00Z'],
    ['a day that does not exist', '2026-02-30T13:00Z'],
    ['day 366 of a common year', '2026-366T13:00Z'],
    ['day 0 of a year', '2026-000T13:00Z'],
    ['week 53 of a year of 52', '2025-W53-1T13:00Z'],
    ['week 0', '2026-W00-1T13:00Z'],
    ['day 8 of a week', '2026-W47-8T13:00Z'],
    ['more than the end of a day', '2026-11-20T24:00:01Z'],
    ['a fraction past the end of a day', '2026-11-20T24,5Z'],
    ['hour 25', '2026-11-20T25Z'],
    ['minute 60', '2026-11-20T13:60Z'],
    ['the basic date with the extended time', '20261120T13:00:00Z'],
    ['the extended date with the basic time', '2026-11-20T130000Z'],
    ['a duration', 'PT1H'],
    ['an interval', '2026-11-20T13Z/2026-11-20T14Z'],
    ['seconds since 1970', '1795438800'],
    ['words', 'now'],
    ['nothing', ''],
  ])('is not text with %s', (_what, text) => {
    expect(parseIsoInstant(text)).toBeUndefined()
  })

  it('is the same in the extended and the basic format, whatever the day', () => {
    const [minMs, maxMs] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59Z')]
    fc.assert(
      fc.property(fc.integer({ min: minMs / 1_000, max: maxMs / 1_000 }), seconds => {
        const text = new Date(seconds * 1_000).toISOString().replace('.000', '')
        expect(parseIsoInstant(text.replaceAll(/[-:]/g, ''))).toBe(seconds * 1_000)
      }),
    )
  })
})
