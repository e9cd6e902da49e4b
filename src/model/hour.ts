import { z } from 'zod'
import { Fault } from './fault.ts'
import { dayMs, hourMs } from './limits.ts'

declare const isHour: unique symbol

/** A full UTC hour, as milliseconds since 1970: the instant a value is as of. Always a multiple of 3,600,000. */
export type Hour = number & { readonly [isHour]: true }

/** Later than any hour. */
export const endOfTime = 8.64e15 as Hour

/** The last full hour at or before an instant. */
export function hourAt(instantMs: number): Hour {
  return (Math.floor(instantMs / hourMs) * hourMs) as Hour
}

/** The hour `count` hours after (or before, when negative) another. */
export function hourAfter(hour: Hour, count: number): Hour {
  return (hour + count * hourMs) as Hour
}

/** Every hour from `from` to `to`, both included, ascending; empty when `to` lies before `from`. */
export function hoursFrom(from: Hour, to: Hour): Hour[] {
  const count = Math.max(0, (to - from) / hourMs + 1)
  return Array.from({ length: count }, (_, index) => hourAfter(from, index))
}

/** The hour in its wire form: `2026-11-20T13:00:00Z`. */
export function hourText(hour: Hour): string {
  return instantText(hour)
}

/** An instant to the second: `2026-11-20T13:00:04Z`. */
export function instantText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/**
 * Reads an hour from text, in any offset.
 *
 * @throws Fault `usage` when it is not an instant, or not at a full hour
 */
export function parseHour(text: string): Hour {
  const instantMs = parseInstant(text)
  if (instantMs === undefined) {
    throw new Fault('usage', `"${text}" is not an hour`, { fix: 'write it like 2026-11-20T13:00:00Z' })
  }
  if (instantMs % hourMs !== 0) {
    const [before, after] = [hourAt(instantMs), hourAfter(hourAt(instantMs), 1)]
    throw new Fault('usage', `"${text}" is not a full hour`, { fix: `${hourText(before)} or ${hourText(after)}` })
  }
  return instantMs as Hour
}

/** Hours since 1970: how the outbox stores an hour, in three bytes. */
export function hourNumber(hour: Hour): number {
  return hour / hourMs
}

/** The inverse of `hourNumber`. */
export function hourFromNumber(number: number): Hour {
  return (number * hourMs) as Hour
}

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
