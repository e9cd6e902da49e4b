import { type Hour, hourAfter, hoursFrom } from '../model/hour.ts'
import { hourMs } from '../model/limits.ts'

/** What decides which hours are expected of a collector. */
export interface Expectation {
  /** First hour ever expected of it. */
  readonly since: Hour
  /** Newest hour that is already a row, with none missing since the first; absent when the first is none. */
  readonly newest?: Hour
  /** The current hour. */
  readonly current: Hour
}

/** Hours that must be rows by now and are none yet: all since the collector's start, or since the last that is a row. */
export function hoursWithoutRow({ since, newest, current }: Expectation): Hour[] {
  return hoursFrom(newest === undefined ? since : hourAfter(newest, 1), current)
}

/** The oldest hour that is still caught up by itself. */
export function oldestCaughtUp(current: Hour, catchUpMs: number): Hour {
  return hourAfter(current, -Math.ceil(catchUpMs / hourMs))
}
