import { type Remark, warningKind } from '../../../model/remarks.ts'
import type { Warning, WarningSelection } from '../../contract/warnings.ts'
import { type WarningRow, warningOf, warningsMax } from '../../rows/warning-row.ts'
import type { Transaction } from '../connection/transaction.ts'
import type { RowReader } from './known-metrics.ts'

/** Counts warnings, each kind once for each metric. */
export function recordWarnings(transaction: Transaction, remarks: readonly Remark[], nowMs: number): void {
  if (remarks.length === 0) return
  const all = new Map<string, { metric: string; kind: string; text: string; count: number }>()
  for (const { metric, text } of remarks) {
    const [id, kind] = [metric?.id ?? '', warningKind(text)]
    const key = JSON.stringify([id, kind])
    all.set(key, { metric: id, kind, text, count: (all.get(key)?.count ?? 0) + 1 })
  }
  // Rows are locked in one order by all processes.
  const rows = [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  transaction.later(
    `INSERT INTO tidegauge.warning (metric, kind, text, count, first_ms, last_ms)
     SELECT metric, kind, text, count, $5::bigint, $5::bigint
     FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[]) AS seen (metric, kind, text, count)
     ON CONFLICT (metric, kind) DO UPDATE SET count = warning.count + excluded.count, last_ms = excluded.last_ms,
       text = excluded.text`,
    [
      rows.map(({ metric }) => metric),
      rows.map(({ kind }) => kind),
      rows.map(({ text }) => text),
      rows.map(({ count }) => count),
      nowMs,
    ],
  )
  transaction.later(
    `DELETE FROM tidegauge.warning WHERE (metric, kind) IN
       (SELECT metric, kind FROM tidegauge.warning ORDER BY last_ms DESC, metric, kind OFFSET $1)`,
    [warningsMax],
  )
}

/** Marks selected warnings as seen. @returns how many were not seen before */
export async function acknowledgeWarnings(transaction: Transaction, { ids, kind }: WarningSelection): Promise<number> {
  const rows = await transaction.query(
    `UPDATE tidegauge.warning SET acknowledged = 1
     WHERE acknowledged = 0 AND ($1::text[] IS NULL OR metric = ANY($1)) AND kind = coalesce($2, kind) RETURNING kind`,
    [ids ?? null, kind ?? null],
  )
  return rows.length
}

/** All warnings, last seen first. */
export async function allWarnings(reading: RowReader): Promise<Warning[]> {
  const rows = await reading.query<WarningRow>('SELECT * FROM tidegauge.warning ORDER BY last_ms DESC, metric, kind')
  return rows.map(warningOf)
}
