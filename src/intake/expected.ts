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
  /** How far back missed hours are caught up. */
  readonly catchUpMs: number
}

/**
 * Hours that must be rows by now: all since the collector's start that are none yet, and the catch-up horizon.
 */
export function expectedHours({ since, newest, current, catchUpMs }: Expectation): Hour[] {
  const horizon = oldestCaughtUp(current, catchUpMs)
  const resumed = newest === undefined ? since : hourAfter(newest, 1)
  return hoursFrom(Math.max(since, Math.min(horizon, resumed)) as Hour, current)
}

/** The oldest hour that is still caught up by itself. */
export function oldestCaughtUp(current: Hour, catchUpMs: number): Hour {
  return hourAfter(current, -Math.ceil(catchUpMs / hourMs))
}
