import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import { runMetricsMax } from '../../rows/run-values.ts'

/** Time for which the newest delivered hour of a collector is cached, when it is more than two days old. */
const deliveredKnownMs = 600_000

/** The newest delivered hour of each collector, however old. */
export class NewestDelivered {
  readonly #statements
  readonly #known = new Map<string, { readonly hour: Hour; readonly atMs: number }>()

  constructor(database: Sqlite) {
    this.#statements = {
      spans: database
        .prepare<[string], string>(
          `SELECT json_group_array(json_array(first, last)) FROM (
             SELECT min(id) AS first, max(id) AS last FROM (
               SELECT id, id - row_number() OVER (ORDER BY id) AS span FROM metric
               WHERE collector = (SELECT id FROM collector WHERE name = +?)) GROUP BY span)`,
        )
        .pluck(),
      // Walks back hour by hour: an index of all collected hours would be a hundred times as large as the answer.
      newest: database
        .prepare<{ name: string; from: number; spans: string }, number>(
          `WITH RECURSIVE
             own AS MATERIALIZED (SELECT id, since FROM collector WHERE name = @name),
             back (hour, id, since) AS (
               SELECT @from, id, since FROM own WHERE since <= @from
               UNION ALL SELECT hour - 1, id, since FROM back WHERE hour > since)
           SELECT back.hour FROM back
             CROSS JOIN collection ON collection.hour = back.hour AND collection.collector = back.id AND collection.state = 1
           WHERE NOT EXISTS (SELECT 1 FROM json_each(@spans) AS each
             CROSS JOIN outbox ON outbox.hour = back.hour
               AND first BETWEEN each.value ->> 0 - ${runMetricsMax - 1} AND each.value ->> 1
             WHERE first + metrics > each.value ->> 0 AND outbox.state IN (0, 2, 3))
           LIMIT 1`,
        )
        .pluck(),
      since: database.prepare<[string], number>('SELECT since FROM collector WHERE name = ?').pluck(),
    }
  }

  /**
   * As `StatusStore.newestDelivered`; `undefined` for a collector without a schedule. A step back costs two
   * microseconds, so an old result is cached.
   */
  of(collector: string, upTo: Hour, nowMs: number): Hour | undefined {
    const known = this.#known.get(collector)
    if (known && Math.abs(nowMs - known.atMs) < deliveredKnownMs) return known.hour
    const spans = this.#statements.spans.get(collector) ?? '[]'
    const newest = this.#statements.newest.get({ name: collector, from: hourNumber(upTo), spans })
    const number = newest ?? this.#statements.since.get(collector)
    if (number === undefined) return undefined
    const hour = hourFromNumber(number)
    this.#known.set(collector, { hour, atMs: nowMs })
    return hour
  }
}
