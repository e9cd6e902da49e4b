import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import type { Sqlite } from '../../../sqlite/database.ts'

/** Corrects expected hours that a wrong clock has written. */
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

  /** Makes gaps due again, from an hour on, that became gaps as too old but are not. */
  reopenTooOld(name: string, oldest: Hour): void {
    this.#statements.reopen.run(hourNumber(oldest), name)
  }

  /** The newest collected hour; `undefined` when there is none. */
  newestCollected(): Hour | undefined {
    const hour = this.#statements.newest.get()
    return hour === undefined ? undefined : hourFromNumber(hour)
  }

  /** Deletes uncollected rows after an hour, at most one commit's worth. @returns whether there may be more */
  withdrawSome(name: string, after: Hour): boolean {
    return this.#statements.withdraw.run(hourNumber(after), name, commitRowsMax).changes === commitRowsMax
  }
}
