import type { FaultRecord } from '../../../model/fault.ts'
import { hourFromNumber, hourNumber } from '../../../model/hour.ts'
import { recollectCapMs } from '../../../model/limits.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { DueHour, DueHoursWanted } from '../../contract/hours.ts'

/** @returns a function that finds due hours of many collectors in a few microseconds each, as `ExpectedHours.due` */
export function dueHours(database: Sqlite): (wanted: DueHoursWanted) => DueHour[] {
  // Reads only the index: hours that wait for their next attempt cost no row.
  const statement = database
    .prepare<
      { asked: string; current: number; nowMs: number; soonMs: number; limit: number },
      [collector: string, hour: number, attempts: number, fault: string | null]
    >(
      `SELECT collector.name, collection.hour, attempts, fault FROM json_each(@asked) AS asked
         CROSS JOIN collector ON collector.name = asked.value
         CROSS JOIN collection ON collection.collector = collector.id AND collection.hour IN (
           SELECT hour FROM collection AS due WHERE due.state = 0 AND due.collector = collector.id AND due.hour <= @current
             AND (due.next_attempt_ms <= @nowMs OR due.next_attempt_ms > @soonMs) ORDER BY due.hour DESC LIMIT @limit)
       ORDER BY asked.key, collection.hour DESC`,
    )
    .raw()
  return ({ collectors, current, nowMs, limit }) =>
    statement
      .all({
        asked: JSON.stringify(collectors),
        current: hourNumber(current),
        nowMs,
        soonMs: nowMs + recollectCapMs,
        limit,
      })
      .map(([collector, hour, attempts, fault]) => {
        const due = { collector, hour: hourFromNumber(hour), attempts }
        return fault === null ? due : { ...due, fault: JSON.parse(fault) as FaultRecord }
      })
}
