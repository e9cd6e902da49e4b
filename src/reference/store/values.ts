import type { Sqlite } from '../../sqlite/database.ts'
import { groupCommit } from '../../sqlite/group-commit.ts'
import { type Numbers, numbersIn } from './numbers.ts'
import { type Instant, type ValueRow, writeRowsIn } from './rows.ts'

/** One metric of a push, ready to be stored. */
export interface NewValue {
  readonly protocolNo: number
  /** Metric id. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly atMs: number
  readonly value: number
  /** Absent: the metric has none. */
  readonly unit: string | undefined
  readonly module: string
}

/** The newest value of a metric. */
export interface LatestValue {
  readonly metricNo: number
  readonly id: string
  /** Milliseconds since 1970. */
  readonly atMs: number
  readonly value: number
  /** Unit of the value; `null` when it has none. */
  readonly unit: string | null
}

/** The values of all metrics. */
export interface StoredValues {
  /**
   * Stores a push in one transaction, all or nothing.
   *
   * @param keyNo the pushing key
   * @returns indexes in `values` of metrics that existed with the same id and instant and were updated
   */
  put(values: readonly NewValue[], keyNo: number): Promise<readonly number[]>
  /** The newest value of every metric of a protocol, by metric id. */
  latest(protocolNo: number): LatestValue[]
  /** The newest value of each metric of a protocol in `(afterMs, untilMs]`, by metric number. */
  newestWithin(protocolNo: number, afterMs: number, untilMs: number): ReadonlyMap<number, number>
}

/** The values in an open file of the service. */
export function valuesIn(database: Sqlite): StoredValues {
  const numbers = numbersIn(database)
  const writeRows = writeRowsIn(database)
  const latest = database.prepare<[number], LatestValue>(
    `SELECT metric.no AS metricNo, metric.id, at_ms AS atMs, value, unit
     FROM metric JOIN metric_value ON metric_value.protocol_no = metric.protocol_no
       AND at_ms = latest_at_ms AND metric_no = metric.no
     JOIN form ON form.no = form_no WHERE metric.protocol_no = +? ORDER BY metric.id`,
  )
  // SQLite takes the bare column `value` from the row with the max.
  const newest = database.prepare<[number, number, number], { metricNo: number; value: number; atMs: number }>(
    `SELECT metric_no AS metricNo, value, max(at_ms) AS atMs FROM metric_value
     WHERE protocol_no = +? AND at_ms > ? AND at_ms <= ? GROUP BY metric_no`,
  )

  const inTransaction = groupCommit(database, numbers.forget)

  const putAll = (values: readonly NewValue[], keyNo: number): readonly number[] =>
    byInstant(values, keyNo, numbers).flatMap(({ instant, rows }) => writeRows(instant, rows))

  return {
    put: (values, keyNo) => inTransaction(() => putAll(values, keyNo)),
    latest: protocolNo => latest.all(protocolNo),
    newestWithin: (protocolNo, afterMs, untilMs) =>
      new Map(newest.all(protocolNo, afterMs, untilMs).map(({ metricNo, value }) => [metricNo, value])),
  }
}

interface ValuesAtInstant {
  readonly instant: Instant
  readonly rows: ValueRow[]
}

/** Groups the rows of a push by protocol and instant; usually there is one group, so the last is checked first. */
function byInstant(values: readonly NewValue[], keyNo: number, numbers: Numbers): ValuesAtInstant[] {
  const groups: ValuesAtInstant[] = []
  let last: ValuesAtInstant | undefined
  values.forEach(({ protocolNo, id, atMs, value, unit, module }, place) => {
    const isOf = ({ instant }: ValuesAtInstant) => instant.atMs === atMs && instant.protocolNo === protocolNo
    const found = last && isOf(last) ? last : groups.find(isOf)
    const group = found ?? { instant: { protocolNo, atMs, keyNo }, rows: [] }
    if (!found) groups.push(group)
    const [metricNo, formNo] = [numbers.metric(protocolNo, id, atMs), numbers.form(unit, module)]
    group.rows.push({ place, metricNo, value, formNo })
    last = group
  })
  return groups
}
