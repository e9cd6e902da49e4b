import { type Hour, hourAfter, hoursFrom } from '../model/hour.ts'
import { hourMs } from '../model/limits.ts'

/** Inputs of `expectedHours`. */
export interface Expectation {
  /** First hour ever expected of the collector. */
  readonly since: Hour
  /** End of the unbroken run of rows from the first hour; absent if the first hour has no row. */
  readonly newest?: Hour
  /** The current hour. */
  readonly current: Hour
}

/**
 * Hours that must have a row and have none yet: all since the collector's start, or since the end of its unbroken run.
 */
export function hoursWithoutRow({ since, newest, current }: Expectation): Hour[] {
  return hoursFrom(newest === undefined ? since : hourAfter(newest, 1), current)
}

/** The oldest hour within the catch-up range. */
export function oldestCaughtUp(current: Hour, catchUpMs: number): Hour {
  return hourAfter(current, -Math.ceil(catchUpMs / hourMs))
}
