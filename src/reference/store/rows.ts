import type { Sqlite } from '../../sqlite/database.ts'

/** One value as a row, with its index in its push. */
export interface ValueRow {
  /** Index in the push. */
  readonly place: number
  readonly metricNo: number
  readonly value: number
  /** Number of the (unit, module) pair. */
  readonly formNo: number
}

/** Fields that the rows of a push share. */
export interface Instant {
  readonly protocolNo: number
  /** Milliseconds since 1970. */
  readonly atMs: number
  /** Number of the pushing key's owner. */
  readonly keyNo: number
}

/** Writes rows of one instant, as many as a push has. @returns indexes of rows that existed and were updated */
export type WriteRows = (instant: Instant, rows: readonly ValueRow[]) => number[]

/** Writes into an open file of the service. Call the result within a transaction. */
export function writeRowsIn(database: Sqlite): WriteRows {
  const existing = database
    .prepare<[number, number, number, number], number>(
      'SELECT metric_no FROM metric_value WHERE protocol_no = ? AND at_ms = ? AND metric_no BETWEEN ? AND ?',
    )
    .pluck()
  const upsert = byCount(count =>
    database.prepare<[number, number, number, number[]]>(
      `INSERT INTO metric_value (protocol_no, at_ms, key_no, metric_no, value, form_no)
       SELECT ?, ?, ?, column1, column2, column3 FROM (VALUES ${list(count, '(?, ?, ?)')}) WHERE true
       ON CONFLICT DO UPDATE SET value = excluded.value, form_no = excluded.form_no, key_no = excluded.key_no`,
    ),
  )
  const advance = byCount(count =>
    database.prepare<[number, number, number[]]>(
      `UPDATE metric SET latest_at_ms = ? WHERE latest_at_ms < ? AND no IN (${list(count, '?')})`,
    ),
  )

  return ({ protocolNo, atMs, keyNo }, rows) => {
    const metricNos = rows.map(({ metricNo }) => metricNo)
    const known = new Set(existing.all(protocolNo, atMs, Math.min(...metricNos), Math.max(...metricNos)))
    const updated: number[] = []
    const parameters: number[] = []
    for (const { place, metricNo, value, formNo } of rows) {
      if (known.has(metricNo)) updated.push(place)
      known.add(metricNo)
      parameters.push(metricNo, value, formNo)
    }
    upsert(rows.length).run(protocolNo, atMs, keyNo, parameters)
    advance(rows.length).run(atMs, atMs, metricNos)
    return updated
  }
}

/**
 * Caches statements by row count: one statement for many rows takes half the time of one for each. It is prepared when
 * a push of that size first comes.
 */
function byCount<S>(prepare: (count: number) => S): (count: number) => S {
  const prepared = new Map<number, S>()
  return count => {
    const statement = prepared.get(count) ?? prepare(count)
    prepared.set(count, statement)
    return statement
  }
}

function list(count: number, text: string): string {
  return Array.from({ length: count }, () => text).join(', ')
}
