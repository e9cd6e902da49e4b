import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import { recollectCapMs } from '../../../model/limits.ts'
import type { Sqlite } from '../../../sqlite/database.ts'

/** A due (collector, hour) whose next attempt has come. */
export interface DueHour {
  readonly collector: string
  readonly hour: Hour
  /** Attempts so far. */
  readonly attempts: number
}

/** Selects due hours. */
interface DueAsked {
  readonly names: readonly string[]
  readonly current: Hour
  readonly nowMs: number
  /** Most hours of each collector. */
  readonly limit: number
}

/** @returns a function that finds due hours of many collectors in a few microseconds each, as `Collections.due` */
export function dueHours(database: Sqlite): (asked: DueAsked) => DueHour[] {
  // Reads only the index: hours that wait for their next attempt cost no row.
  const statement = database
    .prepare<
      { asked: string; current: number; nowMs: number; soonMs: number; limit: number },
      [collector: string, hour: number, attempts: number]
    >(
      `SELECT collector.name, collection.hour, attempts FROM json_each(@asked) AS asked
         CROSS JOIN collector ON collector.name = asked.value
         CROSS JOIN collection ON collection.collector = collector.id AND collection.hour IN (
           SELECT hour FROM collection AS due WHERE due.state = 0 AND due.collector = collector.id AND due.hour <= @current
             AND (due.next_attempt_ms <= @nowMs OR due.next_attempt_ms > @soonMs) ORDER BY due.hour DESC LIMIT @limit)
       ORDER BY asked.key, collection.hour DESC`,
    )
    .raw()
  return ({ names, current, nowMs, limit }) =>
    statement
      .all({
        asked: JSON.stringify(names),
        current: hourNumber(current),
        nowMs,
        soonMs: nowMs + recollectCapMs,
        limit,
      })
      .map(([collector, hour, attempts]) => ({ collector, hour: hourFromNumber(hour), attempts }))
}
