import { openReadOnly } from '../../../src/sqlite/database.ts'
import { seeMetricRows } from './metric-rows.ts'

/** A metric as it lies in a file. */
export interface StoredRow {
  readonly hour: number
  readonly id: string
  readonly collector: string
  readonly state: number
  readonly value: number
  readonly unit: string | null
}

/** An hour of a collector as it lies in a file. */
export interface HourRow {
  readonly hour: number
  readonly collector: string
  readonly state: number
  readonly fault: string | null
}

/** All that matters in an outbox's file. */
export interface Contents {
  /** By `hour id`. */
  readonly rows: ReadonlyMap<string, StoredRow>
  /** By `hour collector`. */
  readonly hours: ReadonlyMap<string, HourRow>
}

export function contentsOf(file: string): Contents {
  const database = openReadOnly(file)
  try {
    seeMetricRows(database)
    const rows = database.prepare<[], StoredRow>(
      `SELECT metric_row.hour, metric.name AS id, collector.name AS collector, state, value,
         (SELECT unit FROM description WHERE description.metric = metric.id ORDER BY since LIMIT 1) AS unit
       FROM metric_row JOIN metric ON metric.id = metric_row.metric JOIN collector ON collector.id = metric.collector`,
    )
    const hours = database.prepare<[], HourRow>(
      'SELECT hour, name AS collector, state, fault FROM collection JOIN collector ON collector.id = collection.collector',
    )
    return {
      rows: new Map(rows.all().map(row => [`${row.hour} ${row.id}`, row])),
      hours: new Map(hours.all().map(row => [`${row.hour} ${row.collector}`, row])),
    }
  } finally {
    database.close()
  }
}

/** Mistakes in a file that should be sound: none, hopefully. */
export function flawsOf(file: string): string[] {
  const database = openReadOnly(file)
  try {
    seeMetricRows(database)
    const integrity = database.prepare<[], string>('PRAGMA integrity_check').pluck().all()
    const references = database.prepare('PRAGMA foreign_key_check').all()
    const unexplained = database.prepare<[], string>(
      `SELECT iif(kind IS NULL, 'dead or held without a reason', 'a reason of what is neither dead nor held') || ': ' || hour || ' ' || metric
       FROM detained FULL JOIN (SELECT hour, metric, iif(state = 2, 'refused', 'held') AS wanted FROM metric_row WHERE state IN (2, 3)) USING (hour, metric)
       WHERE iif(kind = 'refused', kind, iif(kind IS NULL, NULL, 'held')) IS NOT wanted`,
    )
    const orphaned = database.prepare<[], string>(
      `SELECT 'a correction of no metric: ' || hour || ' ' || metric FROM correction LEFT JOIN metric_row USING (hour, metric) WHERE state IS NULL`,
    )
    // No key of a row refers to the metrics of a run after its first.
    const unknown = database.prepare<[], string>(
      `SELECT 'a value of no metric: ' || hour || ' ' || metric FROM metric_row
       WHERE NOT EXISTS (SELECT 1 FROM metric WHERE metric.id = metric_row.metric AND metric.protocol = metric_row.protocol)`,
    )
    const twice = database.prepare<[], string>(
      `SELECT 'stored twice: ' || hour || ' ' || metric FROM metric_row GROUP BY hour, metric HAVING count(*) > 1`,
    )
    return [
      ...integrity.filter(text => text !== 'ok'),
      ...references.map(reference => `leads nowhere: ${JSON.stringify(reference)}`),
      ...[unexplained, orphaned, unknown, twice].flatMap(statement => statement.pluck().all()),
      ...miscounted(file),
    ]
  } finally {
    database.close()
  }
}

/** Where the tally, or the counts of due metrics by hour, differ from a count of the rows. */
export function miscounted(file: string): string[] {
  const database = openReadOnly(file)
  try {
    return database
      .prepare<[], string>(
        `SELECT 'protocol ' || protocol || ' state ' || state || ': counted ' || sum(tallied) || ', has ' || sum(has) FROM (
           SELECT protocol, state, metrics AS tallied, 0 AS has FROM tally WHERE state <> 5
           UNION ALL SELECT protocol, state, 0, sum(metrics) FROM outbox WHERE state > 1 GROUP BY protocol, state
           UNION ALL SELECT protocol, 6, 0, sum(metrics) FROM outbox GROUP BY protocol)
         GROUP BY protocol, state HAVING sum(tallied) <> sum(has)
         UNION ALL
         SELECT 'protocol ' || protocol || ' hour ' || hour || ': counted ' || ifnull(due_count.metrics, 0) || ' due, has ' || ifnull(found.metrics, 0)
         FROM due_count FULL JOIN (SELECT protocol, hour, sum(metrics) AS metrics FROM outbox WHERE state = 0 GROUP BY protocol, hour) AS found
           USING (protocol, hour) WHERE due_count.metrics IS NOT found.metrics`,
      )
      .pluck()
      .all()
  } finally {
    database.close()
  }
}
