import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseInstant } from '../../src/model/hour.ts'

describe('an instant', () => {
  it.each([
    ['a fraction of a second', '1963-06-19T08:30:06.283185Z', '1963-06-19T08:30:06.283Z'],
    ['no fraction', '1963-06-19T08:30:06Z', '1963-06-19T08:30:06.000Z'],
    ['an offset to the east', '1937-01-01T12:00:27.87+00:20', '1937-01-01T11:40:27.870Z'],
    ['an offset to the west', '1990-12-31T15:59:50.123-08:00', '1990-12-31T23:59:50.123Z'],
    ['a leap second in UTC', '1998-12-31T23:59:60Z', '1999-01-01T00:00:00.000Z'],
    ['a leap second in another offset', '1998-12-31T15:59:60.123-08:00', '1999-01-01T00:00:00.123Z'],
    ['a leap second in June', '2015-06-30T23:59:60Z', '2015-07-01T00:00:00.000Z'],
    ['a leap second at the end of the last year', '9999-12-31T23:59:60Z', '+010000-01-01T00:00:00.000Z'],
    ['lower case letters', '1963-06-19t08:30:06.283185z', '1963-06-19T08:30:06.283Z'],
    ['fifteen digits of a fraction, cut off', '1985-04-12T00:59:59.999999999999999Z', '1985-04-12T00:59:59.999Z'],
    ['one digit of a fraction', '1985-04-12T23:20:50.5Z', '1985-04-12T23:20:50.500Z'],
    ['a leap day', '2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['a leap day of a year divisible by 400', '2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
    ['an unknown offset', '2026-11-20T13:00:00-00:00', '2026-11-20T13:00:00.000Z'],
    ['the largest offset', '2026-11-20T13:00:00+23:59', '2026-11-19T13:01:00.000Z'],
    ['a year below 100', '0099-01-01T00:00:00Z', '0099-01-01T00:00:00.000Z'],
    ['the year 0, a leap year', '0000-02-29T00:00:00Z', '0000-02-29T00:00:00.000Z'],
  ])('may have %s', (_what, text, utc) => {
    expect(new Date(parseInstant(text) ?? Number.NaN).toISOString()).toBe(utc)
  })

  it.each([
    ['second 61', '1998-12-31T23:59:61Z'],
    ['a leap second in a wrong minute', '1998-12-31T23:58:60Z'],
    ['a leap second in a wrong hour', '1998-12-31T22:59:60Z'],
    ['a leap second on a day that is not the last of its month', '1998-12-30T23:59:60Z'],
    ['a leap second that the offset moves out of its minute', '1998-12-31T23:59:60+00:30'],
    ['a day that does not exist', '1990-02-31T15:59:59.123-08:00'],
    ['day 0', '1990-02-00T15:59:59Z'],
    ['month 0', '1990-00-01T15:59:59Z'],
    ['month 13', '1990-13-01T15:59:59Z'],
    ['a leap day in another year', '2023-02-29T00:00:00Z'],
    ['a leap day in a year divisible by 100', '1900-02-29T00:00:00Z'],
    ['an offset of 24 hours', '1990-12-31T15:59:59-24:00'],
    ['an offset minute of 60', '1990-12-31T10:00:00+10:60'],
    ['Z after an offset', '1963-06-19T08:30:06.28123+01:00Z'],
    ['hour 24', '1990-12-31T24:00:00Z'],
    ['hour 24 with a leap second', '2016-12-31T24:59:60+01:00'],
    ['minute 60', '1990-12-31T15:60:00Z'],
    ['another notation', '06/19/1963 08:30:06 PST'],
    ['a day of the year', '2013-350T01:01:01'],
    ['a day of the year with Z', '2013-350T01:01:01Z'],
    ['a week date', '2026-W47-5T13:00:00Z'],
    ['a month of one digit', '1963-6-19T08:30:06.283185Z'],
    ['a day of one digit', '1963-06-1T08:30:06.283185Z'],
    ['a digit of another script in the date', '1963-06-1\u09eaT00:00:00Z'],
    ['a digit of another script in the time', '1963-06-11T0\u09ea:00:00Z'],
    ['an extended year', '+11963-06-19T08:30:06.283185Z'],
    ['a negative year', '-0001-06-19T08:30:06Z'],
    ['an offset without minutes', '1985-04-12T23:20:50+01'],
    ['an offset without a colon', '1985-04-12T23:20:50+0100'],
    ['an offset with another minus sign', '1985-04-12T23:20:50\u221201:00'],
    ['no offset', '1985-04-12T23:20:50'],
    ['no seconds', '1985-04-12T23:20Z'],
    ['no time', '1985-04-12'],
    ['no separators', '19850412T232050Z'],
    ['a space for the T', '1985-04-12 23:20:50Z'],
    ['a comma before the fraction', '1985-04-12T23:20:50,5Z'],
    ['a fraction without digits', '1985-04-12T23:20:50.Z'],
    ['a newline at the end', '1985-04-12T23:20:50Z\n'],
    ['a space before it', ' 1985-04-12T23:20:50Z'],
    ['nothing', ''],
  ])('is not text with %s', (_what, text) => {
    expect(parseInstant(text)).toBeUndefined()
  })

  it('is read back from what a Date writes, in every year of four digits', () => {
    const [minMs, maxMs] = [Date.parse('0000-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')]
    fc.assert(
      fc.property(fc.integer({ min: minMs, max: maxMs }), instantMs => {
        expect(parseInstant(new Date(instantMs).toISOString())).toBe(instantMs)
      }),
    )
  })

  it('exists exactly when the calendar has its day', () => {
    const part = (min: number, max: number) => fc.integer({ min, max })
    fc.assert(
      fc.property(part(0, 9999), part(0, 13), part(0, 32), (year, month, day) => {
        const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
        const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0
        const digits = (number: number, count: number) => String(number).padStart(count, '0')
        const text = `${digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}T00:00:00Z`
        expect(parseInstant(text) !== undefined).toBe(day >= 1 && day <= days)
      }),
    )
  })
})
