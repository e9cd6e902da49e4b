import type { Sqlite } from '../../../sqlite/database.ts'
import type { EarlierValue } from '../../contract/history.ts'

/** Table of the values that metrics had before they were corrected. A trigger deletes them with their metrics. */
export class EarlierValues {
  readonly #statements

  constructor(database: Sqlite) {
    this.#statements = {
      add: database.prepare<[number, number, number, number]>(
        'INSERT INTO earlier_value (hour, metric, until_ms, value) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
      ),
      of: database.prepare<[number, number], EarlierValue>(
        'SELECT value, until_ms AS untilMs FROM earlier_value WHERE hour = +? AND metric = +? ORDER BY until_ms',
      ),
    }
  }

  /** Adds a value that is replaced now. Within a transaction. @param hour in hours since 1970 */
  add(hour: number, metric: number, value: number, nowMs: number): void {
    this.#statements.add.run(hour, metric, nowMs, value)
  }

  /** Those of a metric and hour, the oldest first. @param hour in hours since 1970 */
  of(hour: number, metric: number): EarlierValue[] {
    return this.#statements.of.all(hour, metric)
  }
}
