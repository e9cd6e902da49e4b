import { hourFromNumber, hourNumber } from '../../../model/hour.ts'
import type { AskedWindow, BackfillStore, BackfillWindow } from '../../contract/backfill-store.ts'
import type { SharedTransaction } from '../../contract/fleet-store.ts'
import type { PostgresDatabase } from '../connection/database.ts'

interface WindowRow extends Omit<BackfillWindow, 'from' | 'to'>, Pick<AskedWindow, 'id' | 'lane'> {
  readonly first: number
  readonly last: number
}

/** The backfills that a fleet was asked for, in PostgreSQL. */
export class PostgresBackfillStore implements BackfillStore {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  async ask(windows: readonly AskedWindow[]): Promise<void> {
    if (windows.length === 0) return
    await this.#database.write(async transaction => {
      for (const { id, lane, window } of windows) {
        const { collectors, from, to, what, order } = window
        transaction.later(
          `INSERT INTO tidegauge.backfill_window (id, lane, collectors, first_hour, last_hour, what, hour_order)
           VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING`,
          [id, lane, collectors, hourNumber(from), hourNumber(to), what, order],
        )
      }
    })
  }

  async open(collectors: readonly string[], limit: number): Promise<readonly AskedWindow[]> {
    const rows = await this.#database.rows<WindowRow>(
      `SELECT id, lane, collectors, first_hour AS first, last_hour AS last, what, hour_order AS order
       FROM tidegauge.backfill_window WHERE collectors <@ $1::text[] ORDER BY first_hour, id LIMIT $2`,
      [collectors, limit],
    )
    return rows.map(({ id, lane, first, last, ...rest }) => ({
      ...{ id, lane },
      window: { ...rest, from: hourFromNumber(first), to: hourFromNumber(last) },
    }))
  }

  async finish(id: string, transaction: SharedTransaction): Promise<void> {
    await transaction.query('DELETE FROM tidegauge.backfill_window WHERE id = $1', [id])
  }
}
