import type { Sqlite } from '../../sqlite/database.ts'

/** A position in the stored values of a protocol, newest first: the next values are strictly before it. */
export interface HistoryCursor {
  readonly protocolNo: number
  /** Milliseconds since 1970. */
  readonly atMs: number
  readonly metricNo: number
}

/** One stored value. */
export interface StoredValue extends HistoryCursor {
  readonly id: string
  readonly value: number
  readonly unit: string | null
  readonly module: string
}

/** @returns at most `count` values that `keyNo` stored in a protocol, newest first, from a position on */
export type StoredBy = (keyNo: number, from: HistoryCursor, count: number) => StoredValue[]

/** The position before every value of a protocol. */
export function newestOf(protocolNo: number): HistoryCursor {
  return { protocolNo, atMs: Number.MAX_SAFE_INTEGER, metricNo: 0 }
}

/** Reads stored values of an open file page by page. */
export function storedIn(database: Sqlite): StoredBy {
  const page = database.prepare<HistoryCursor & { keyNo: number; count: number }, StoredValue>(
    `SELECT metric_value.protocol_no AS protocolNo, at_ms AS atMs, metric_no AS metricNo, metric.id, value, unit, module
     FROM metric_value JOIN metric ON metric.no = metric_no JOIN form ON form.no = form_no
     WHERE metric_value.protocol_no = +:protocolNo AND key_no = +:keyNo AND (at_ms, metric_no) < (:atMs, :metricNo)
     ORDER BY at_ms DESC, metric_no DESC LIMIT +:count`,
  )
  return (keyNo, from, count) => page.all({ ...from, keyNo, count })
}
