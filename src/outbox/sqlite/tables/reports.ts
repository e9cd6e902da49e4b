import type { Sqlite } from '../../../sqlite/database.ts'
import type { Reporter } from '../../contract/report-store.ts'

/** Table of what was reported to people. */
export class Reports {
  readonly #statements

  constructor(database: Sqlite) {
    this.#statements = {
      get: database.prepare<[string], string>('SELECT state FROM report WHERE reporter = ?').pluck(),
      set: database.prepare<[string, string]>(
        'INSERT INTO report (reporter, state) VALUES (?, ?) ON CONFLICT (reporter) DO UPDATE SET state = excluded.state',
      ),
    }
  }

  get(reporter: Reporter): string | undefined {
    return this.#statements.get.get(reporter)
  }

  /** Within a transaction. */
  set(reporter: Reporter, state: string): void {
    this.#statements.set.run(reporter, state)
  }
}
