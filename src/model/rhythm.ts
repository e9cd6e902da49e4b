import { type Hour, hourAfter, hourNumber } from './hour.ts'

/** Hours of a day that are expected of a collector, 0 to 23 in UTC, ascending. Absent: all are. */
export type DayHours = readonly number[]

/** A collector of the configuration, or a plan, as far as it says which hours are expected. */
interface Rhythm {
  readonly at?: DayHours | undefined
}

/** Whether an hour is expected. Decides for planning, lateness, backfills, commands and windows alike. */
export function isExpected({ at }: Rhythm, hour: Hour): boolean {
  return at === undefined || at.includes(hourNumber(hour) % 24)
}

/** The first expected hour after an hour. */
export function nextExpected(rhythm: Rhythm, hour: Hour): Hour {
  let next = hourAfter(hour, 1)
  while (!isExpected(rhythm, next)) next = hourAfter(next, 1)
  return next
}

/**
 * The hours of a day by `at` and `every`.
 *
 * @param at hours that are written. Default: 0
 * @param everyHours hours from one to the next, a divisor of 24. Default: 24
 */
export function dayHours(at: readonly number[] = [0], everyHours = 24): DayHours {
  const hoursOfDay = at.flatMap(first =>
    Array.from({ length: 24 / everyHours }, (_, count) => (first + count * everyHours) % 24),
  )
  return [...new Set(hoursOfDay)].sort((a, b) => a - b)
}

/** `00:00` */
export function dayHourText(hour: number): string {
  return `${String(hour).padStart(2, '0')}:00`
}
