import { z } from 'zod'

/** Date, time and an offset or Z. zod checks the calendar, but allows a time without seconds and no leap second. */
const dateTime = z.iso.datetime({ offset: true })
const withSeconds = /^.{16}:\d\d/

/**
 * Reads an instant in RFC 3339: a date that exists, a time with seconds, an offset up to 23:59 or Z. Second 60 is
 * accepted only where a leap second can be (23:59:60 UTC on the last day of a month) and counts as the next second, as
 * in POSIX.
 *
 * @returns milliseconds since 1970, fractions of a millisecond cut off; `undefined` for anything else
 */
export function parseInstant(text: string): number | undefined {
  if (!withSeconds.test(text)) return undefined
  const isLeapSecond = text.slice(17, 19) === '60'
  const ordinary = isLeapSecond ? `${text.slice(0, 17)}59${text.slice(19)}` : text
  const { data } = dateTime.safeParse(ordinary.toUpperCase())
  if (data === undefined) return undefined
  const instantMs = Date.parse(data) + (isLeapSecond ? 1000 : 0)
  return isLeapSecond && !startsMonth(instantMs) ? undefined : instantMs
}

/** Whether an instant lies in the first minute of a month. */
function startsMonth(instantMs: number): boolean {
  const date = new Date(instantMs)
  return date.getUTCDate() === 1 && date.getUTCHours() === 0 && date.getUTCMinutes() === 0
}
