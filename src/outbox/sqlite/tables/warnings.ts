import { type Remark, warningKind } from '../../../model/remarks.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { Warning, WarningSelection } from '../../contract/warnings.ts'
import { type WarningRow, warningOf, warningsMax } from '../../rows/warning-row.ts'

/** Table of the service's warnings. */
export class Warnings {
  readonly #statements

  constructor(database: Sqlite) {
    this.#statements = {
      add: database.prepare<[string, string, string, number, number]>(
        `INSERT INTO warning (metric, kind, text, count, first_ms, last_ms) VALUES (?, ?, ?, 1, ?, ?)
         ON CONFLICT (metric, kind) DO UPDATE SET count = count + 1, last_ms = excluded.last_ms, text = excluded.text`,
      ),
      trim: database.prepare<[number]>(
        'DELETE FROM warning WHERE (metric, kind) IN (SELECT metric, kind FROM warning ORDER BY last_ms DESC LIMIT -1 OFFSET ?)',
      ),
      all: database.prepare<[], WarningRow>('SELECT * FROM warning ORDER BY last_ms DESC, metric, kind'),
      acknowledge: database.prepare<{ ids: string | null; kind: string | null }>(
        `UPDATE warning SET acknowledged = 1 WHERE acknowledged = 0
         AND (@ids IS NULL OR metric IN (SELECT value FROM json_each(@ids))) AND kind = coalesce(@kind, kind)`,
      ),
    }
  }

  /** Counts warnings, each kind once for each metric. */
  record(remarks: readonly Remark[], nowMs: number): void {
    if (remarks.length === 0) return
    for (const { metric, text } of remarks) {
      this.#statements.add.run(metric?.id ?? '', warningKind(text), text, nowMs, nowMs)
    }
    this.#statements.trim.run(warningsMax)
  }

  /** Marks selected warnings as seen. @returns how many were not seen before */
  acknowledge({ ids, kind }: WarningSelection): number {
    return this.#statements.acknowledge.run({ ids: ids ? JSON.stringify(ids) : null, kind: kind ?? null }).changes
  }

  /** All warnings, last seen first. */
  all(): Warning[] {
    return this.#statements.all.all().map(warningOf)
  }
}
