import { type Hour, hourNumber } from '../model/hour.ts'
import { commitRowsMax } from '../model/limits.ts'
import type { Sqlite } from '../sqlite/database.ts'

/** Mends what a clock that was wrong has left in the expected hours. Part of the outbox's file. */
export class HourRepair {
  readonly #statements

  constructor(database: Sqlite) {
    const own = 'collector = (SELECT id FROM collector WHERE name = ?)'
    this.#statements = {
      reopen: database.prepare<[number, string]>(
        `UPDATE collection SET state = 0, fault = NULL
         WHERE state = 2 AND hour >= ? AND fault ->> 'code' = 'hour-too-old' AND ${own}`,
      ),
      withdraw: database.prepare<[number, string, number]>(
        `DELETE FROM collection WHERE (hour, collector) IN
         (SELECT hour, collector FROM collection WHERE hour > ? AND state <> 1 AND ${own} LIMIT ?)`,
      ),
    }
  }

  /** Makes gaps due again that were too old to be caught up, and are not: from an hour on. */
  reopenTooOld(name: string, oldest: Hour): void {
    this.#statements.reopen.run(hourNumber(oldest), name)
  }

  /** Takes back what is expected after an hour and is not collected, a commit's worth. @returns whether there may be more */
  withdrawSome(name: string, after: Hour): boolean {
    return this.#statements.withdraw.run(hourNumber(after), name, commitRowsMax).changes === commitRowsMax
  }
}
