import type { Reporter, ReportStore } from '../../contract/report-store.ts'
import type { OutboxTables } from '../tables/outbox-tables.ts'

/** Memory of what was reported to people, in SQLite. */
export class SqliteReportStore implements ReportStore {
  readonly #tables: OutboxTables

  constructor(tables: OutboxTables) {
    this.#tables = tables
  }

  async read(reporter: Reporter): Promise<string | undefined> {
    return this.#tables.reported.get(reporter)
  }

  save(reporter: Reporter, state: string): Promise<void> {
    return this.#tables.writer.commit(() => this.#tables.reported.set(reporter, state), 1)
  }
}
