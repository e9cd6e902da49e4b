import type { Reporter, ReportStore } from '../../contract/report-store.ts'
import type { PostgresDatabase } from '../connection/database.ts'

/** Memory of what was reported to people, in PostgreSQL. */
export class PostgresReportStore implements ReportStore {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  async read(reporter: Reporter): Promise<string | undefined> {
    const [row] = await this.#database.rows<{ state: string }>(
      'SELECT state FROM tidegauge.report WHERE reporter = $1',
      [reporter],
    )
    return row?.state
  }

  save(reporter: Reporter, state: string): Promise<void> {
    return this.#database.write(async transaction =>
      transaction.later(
        `INSERT INTO tidegauge.report (reporter, state) VALUES ($1, $2)
         ON CONFLICT (reporter) DO UPDATE SET state = excluded.state`,
        [reporter, state],
      ),
    )
  }
}
