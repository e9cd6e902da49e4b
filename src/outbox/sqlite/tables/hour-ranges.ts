import type { Sqlite } from '../../../sqlite/database.ts'
import type { CollectorHourRange } from '../../contract/hours.ts'
import type { HoursWanted } from '../../contract/operator-store.ts'
import { type HourOfRange, hourRangesOf } from '../../rows/hour-ranges.ts'
import { hourBounds } from '../../rows/hour-rows.ts'

/** Finds ranges of hours that are not collected. */
export class HourRanges {
  readonly #statements

  constructor(database: Sqlite) {
    const prepare = (state: 0 | 2) =>
      database.prepare<[string | null, number, number], HourOfRange>(
        `SELECT name AS collector, hour, fault FROM collection JOIN collector ON collector.id = collection.collector
         WHERE state = ${state} AND name IN (SELECT value FROM json_each(coalesce(?, (SELECT json_group_array(name) FROM collector))))
           AND hour BETWEEN ? AND ? ORDER BY name, hour`,
      )
    const unread = database.prepare<[string | null, number, number], HourOfRange>(
      `SELECT name AS collector, failure.hour, failure.fault FROM backfill_failure AS failure JOIN collector ON collector.id = failure.collector
       LEFT JOIN collection ON collection.hour = failure.hour AND collection.collector = failure.collector
       WHERE coalesce(state, 0) = 0 AND name IN (SELECT value FROM json_each(coalesce(?, (SELECT json_group_array(name) FROM collector))))
         AND failure.hour BETWEEN ? AND ? ORDER BY name, failure.hour`,
    )
    this.#statements = { gap: prepare(2), due: prepare(0), unread }
  }

  /** As `OperatorStore.hourRanges`. */
  of(state: 'gap' | 'due' | 'unread', { collectors, from, to }: HoursWanted = {}): CollectorHourRange[] {
    const names = collectors ? JSON.stringify(collectors) : null
    return hourRangesOf(this.#statements[state].iterate(names, ...hourBounds(from, to)))
  }
}
