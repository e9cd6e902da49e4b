import { type Hour, hourFromNumber, hourNumber } from '../../model/hour.ts'
import { commitRowsMax } from '../../model/limits.ts'
import type { Sqlite } from '../../sqlite/database.ts'

/** What clocks have left in the expected hours, and how it is mended where they were wrong. Part of the outbox's file. */
export class HourRepair {
  readonly #statements

  constructor(database: Sqlite) {
    const own = 'collector = (SELECT id FROM collector WHERE name = ?)'
    this.#statements = {
      reopen: database.prepare<[number, string]>(
        `UPDATE collection SET state = 0, fault = NULL
         WHERE state = 2 AND hour >= ? AND fault ->> 'code' = 'hour-too-old' AND ${own}`,
      ),
      newest: database
        .prepare<[], number>('SELECT hour FROM collection WHERE state = 1 ORDER BY hour DESC LIMIT 1')
        .pluck(),
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

  /** The newest hour that anything was collected for; `undefined` before there is one. */
  newestCollected(): Hour | undefined {
    const hour = this.#statements.newest.get()
    return hour === undefined ? undefined : hourFromNumber(hour)
  }

  /** Takes back what is expected after an hour and is not collected, a commit's worth. @returns whether there may be more */
  withdrawSome(name: string, after: Hour): boolean {
    return this.#statements.withdraw.run(hourNumber(after), name, commitRowsMax).changes === commitRowsMax
  }
}
