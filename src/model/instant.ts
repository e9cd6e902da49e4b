/** An instant as ISO 8601 text in the profile of RFC 3339: date, time, seconds, and an offset or Z. */
const shape = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:([Zz])|([+-])(\d{2}):(\d{2}))$/

const minuteMs = 60_000

/**
 * Reads an instant strictly: a date that exists (leap years included), an hour up to 23, an offset up to 23:59, and
 * second 60 only where a leap second can be (23:59:60 UTC on the last day of a month, counted as the next second, as
 * POSIX clocks do).
 *
 * @returns milliseconds since 1970, fractions of a millisecond cut off; `undefined` for anything else
 */
export function parseInstant(text: string): number | undefined {
  const match = shape.exec(text)
  if (!match) return undefined
  const part = (index: number) => Number(match[index] ?? 0)
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)] as const
  const [offsetHour, offsetMinute] = [part(10), part(11)]
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return undefined
  if (!isCalendarDate(year, month, day)) return undefined
  const sign = match[9] === '-' ? -1 : 1
  const wholeMinuteMs = utcMs(year, month, day, hour, minute) - sign * (offsetHour * 60 + offsetMinute) * minuteMs
  if (second === 60 && !isLastMinuteOfMonth(wholeMinuteMs)) return undefined
  return wholeMinuteMs + second * 1000 + Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'))
}

function isCalendarDate(year: number, month: number, day: number): boolean {
  const date = new Date(utcMs(year, month, day, 0, 0))
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

/** `Date.UTC` takes the years 0 to 99 for 1900 to 1999; this does not. */
function utcMs(year: number, month: number, day: number, hour: number, minute: number): number {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.setUTCHours(hour, minute)
}

function isLastMinuteOfMonth(wholeMinuteMs: number): boolean {
  const next = new Date(wholeMinuteMs + minuteMs)
  return next.getUTCDate() === 1 && next.getUTCHours() === 0 && next.getUTCMinutes() === 0
}
