import type { Sqlite } from '../../../sqlite/database.ts'
import type { UnsuccessfulFlushes } from '../../contract/history.ts'

/** Table of the flushes that left metrics over. */
export class UnsuccessfulFlushTable {
  readonly #statements

  constructor(database: Sqlite) {
    const columns = 'first_ms AS firstMs, last_ms AS lastMs, flushes, reason FROM unsuccessful_flush'
    this.#statements = {
      last: database.prepare<[string], UnsuccessfulFlushes>(
        `SELECT ${columns} WHERE destination = +? ORDER BY first_ms DESC LIMIT 1`,
      ),
      add: database.prepare<[string, number, number, number, string]>(
        `INSERT INTO unsuccessful_flush (destination, first_ms, last_ms, flushes, reason) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET last_ms = max(last_ms, excluded.last_ms), flushes = flushes + 1, reason = excluded.reason`,
      ),
      between: database.prepare<[string, number, number], UnsuccessfulFlushes>(
        `SELECT ${columns} WHERE destination = +? AND last_ms >= ? AND first_ms <= ? ORDER BY first_ms`,
      ),
      prune: database.prepare<[number]>('DELETE FROM unsuccessful_flush WHERE last_ms < ?'),
    }
  }

  /** Adds a flush to those before it, if their reason is the same but for its numbers. Within a transaction. */
  add(destination: string, reason: string, nowMs: number): void {
    const last = this.#statements.last.get(destination)
    const isSame = last && kindOf(last.reason) === kindOf(reason)
    this.#statements.add.run(destination, isSame ? last.firstMs : nowMs, nowMs, 1, reason)
  }

  /** As `OperatorStore.unsuccessfulFlushes`. */
  between(destination: string, fromMs: number, toMs: number): UnsuccessfulFlushes[] {
    return this.#statements.between.all(destination, fromMs, toMs)
  }

  /** Deletes those that ended before an instant. Within a transaction. */
  prune(beforeMs: number): void {
    this.#statements.prune.run(beforeMs)
  }
}

function kindOf(reason: string): string {
  return reason.replace(/\d+/g, '…')
}
