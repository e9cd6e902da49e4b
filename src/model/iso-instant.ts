import { parseInstant } from './instant.ts'

/** Calendar, week or ordinal date, and a time of day down to hours, minutes or seconds, in ISO 8601's two formats. */
const zone = String.raw`(?:Z|(?<sign>[+\-\u2212])(?<zoneHour>\d{2})(?::?(?<zoneMinute>\d{2}))?)`
const extended = new RegExp(
  String.raw`^(?<year>\d{4})-(?:(?<month>\d{2})-(?<day>\d{2})|W(?<week>\d{2})-(?<weekDay>[1-7])|(?<yearDay>\d{3}))` +
    String.raw`T(?<hour>\d{2})(?::(?<minute>\d{2})(?::(?<second>\d{2}))?)?(?:[.,](?<fraction>\d+))?${zone}$`,
  'i',
)
const basic = new RegExp(
  String.raw`^(?<year>\d{4})(?:(?<month>\d{2})(?<day>\d{2})|W(?<week>\d{2})(?<weekDay>[1-7])|(?<yearDay>\d{3}))` +
    String.raw`T(?<hour>\d{2})(?:(?<minute>\d{2})(?<second>\d{2})?)?(?:[.,](?<fraction>\d+))?${zone}$`,
  'i',
)

const dayMs = 86_400_000

/**
 * Reads an instant in any notation of ISO 8601 that names one: RFC 3339's, and also without seconds or minutes, with a
 * fraction of the last unit after a point or comma, in the basic format, with a short offset, as a week or ordinal date,
 * or at 24:00.
 *
 * @returns milliseconds since 1970, fractions of a millisecond cut off; `undefined` for anything else, a time without an
 * offset included: it names no instant
 */
export function parseIsoInstant(text: string): number | undefined {
  return parseInstant(text) ?? parseOther(text)
}

function parseOther(text: string): number | undefined {
  const parts = (extended.exec(text) ?? basic.exec(text))?.groups
  const date = parts && dateOf(parts)
  if (!date) return undefined
  const { hour = '', minute = '00', second = '00', sign, zoneHour, zoneMinute = '00' } = parts
  const isEndOfDay = hour === '24' && /^0*$/.test(minute + second + (parts['fraction'] ?? ''))
  const offset = sign === undefined ? 'Z' : `${sign === '+' ? '+' : '-'}${zoneHour}:${zoneMinute}`
  const startMs = parseInstant(`${date}T${isEndOfDay ? '00' : hour}:${minute}:${second}${offset}`)
  return startMs === undefined ? undefined : startMs + fractionMs(parts) + (isEndOfDay ? dayMs : 0)
}

type InstantParts = Readonly<Record<string, string | undefined>>

/** A fraction belongs to the last unit that is written. */
function fractionMs({ minute, second, fraction = '0' }: InstantParts): number {
  const unitMs = second !== undefined ? 1_000 : minute !== undefined ? 60_000 : 3_600_000
  return Math.floor(Number(`0.${fraction.slice(0, 15)}`) * unitMs)
}

/** The calendar date as text; `undefined` for a week or a day that the year does not have. */
function dateOf({ year = '', month, day, week, weekDay, yearDay }: InstantParts): string | undefined {
  if (month !== undefined) return `${year}-${month}-${day}`
  const atMs =
    week === undefined ? ordinalMs(Number(year), Number(yearDay)) : weekMs(Number(year), Number(week), Number(weekDay))
  return atMs === undefined ? undefined : new Date(atMs).toISOString().slice(0, 10)
}

function ordinalMs(year: number, yearDay: number): number | undefined {
  const atMs = firstDayMs(year) + (yearDay - 1) * dayMs
  return new Date(atMs).getUTCFullYear() === year ? atMs : undefined
}

/** Week 1 holds January 4th; a week belongs to the year of its Thursday. */
function weekMs(year: number, week: number, weekDay: number): number | undefined {
  const fourthMs = firstDayMs(year) + 3 * dayMs
  const mondayMs = fourthMs - ((new Date(fourthMs).getUTCDay() + 6) % 7) * dayMs + (week - 1) * 7 * dayMs
  return new Date(mondayMs + 3 * dayMs).getUTCFullYear() === year ? mondayMs + (weekDay - 1) * dayMs : undefined
}

/** `Date.UTC` takes the years 0 to 99 for 1900 to 1999; this does not. */
function firstDayMs(year: number): number {
  return new Date(0).setUTCFullYear(year, 0, 1)
}
