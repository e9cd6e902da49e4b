import { Fault } from './fault.ts'
import { parseInstant } from './instant.ts'
import { hourMs } from './limits.ts'

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
  return `${new Date(hour).toISOString().slice(0, 19)}Z`
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
