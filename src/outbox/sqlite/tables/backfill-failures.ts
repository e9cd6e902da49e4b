import { type Fault, faultRecord } from '../../../model/fault.ts'
import { type Hour, hourNumber } from '../../../model/hour.ts'
import type { Sqlite } from '../../../sqlite/database.ts'

/** Table of hours that a backfill was asked for and could not read. */
export class BackfillFailures {
  readonly #statements

  constructor(database: Sqlite) {
    const own = 'collector = (SELECT id FROM collector WHERE name = ?)'
    this.#statements = {
      add: database.prepare<{ hour: number; name: string; nowMs: number; fault: string }>(
        `INSERT INTO backfill_failure (hour, collector, at_ms, fault) SELECT @hour, id, @nowMs, @fault FROM collector WHERE name = @name
           AND NOT EXISTS (SELECT 1 FROM collection WHERE hour = @hour AND collector = collector.id AND state = 1)
         ON CONFLICT DO UPDATE SET at_ms = excluded.at_ms, fault = excluded.fault`,
      ),
      remove: database.prepare<[number, string]>(`DELETE FROM backfill_failure WHERE hour = ? AND ${own}`),
    }
  }

  /** Adds an hour, or changes why it could not be read; no effect on a collected one. Within a transaction. */
  add(name: string, hour: Hour, fault: Fault, nowMs: number): void {
    this.#statements.add.run({ hour: hourNumber(hour), name, nowMs, fault: JSON.stringify(faultRecord(fault)) })
  }

  /** Removes an hour that is collected. Within a transaction. */
  remove(name: string, hour: Hour): void {
    this.#statements.remove.run(hourNumber(hour), name)
  }
}
