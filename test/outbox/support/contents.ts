import { openReadOnly } from '../../../src/sqlite/database.ts'

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
    const rows = database.prepare<[], StoredRow>(
      `SELECT outbox.hour, metric.name AS id, collector.name AS collector, state, value,
         (SELECT unit FROM description WHERE description.metric = metric.id ORDER BY since LIMIT 1) AS unit
       FROM outbox JOIN metric ON metric.id = outbox.metric JOIN collector ON collector.id = metric.collector`,
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
    const integrity = database.prepare<[], string>('PRAGMA integrity_check').pluck().all()
    const references = database.prepare('PRAGMA foreign_key_check').all()
    const unexplained = database.prepare<[], string>(
      `SELECT iif(kind IS NULL, 'dead or held without a reason', 'a reason of what is neither dead nor held') || ': ' || hour || ' ' || metric
       FROM detained FULL JOIN (SELECT hour, metric, iif(state = 2, 'refused', 'held') AS wanted FROM outbox WHERE state IN (2, 3)) USING (hour, metric)
       WHERE iif(kind = 'refused', kind, iif(kind IS NULL, NULL, 'held')) IS NOT wanted`,
    )
    const orphaned = database.prepare<[], string>(
      `SELECT 'a correction of no metric: ' || hour || ' ' || metric FROM correction LEFT JOIN outbox USING (hour, metric) WHERE state IS NULL`,
    )
    const unknown = database.prepare<[], string>(
      `SELECT 'a value of another protocol: ' || hour || ' ' || metric FROM outbox JOIN metric ON metric.id = outbox.metric
       WHERE metric.protocol <> outbox.protocol`,
    )
    return [
      ...integrity.filter(text => text !== 'ok'),
      ...references.map(reference => `leads nowhere: ${JSON.stringify(reference)}`),
      ...[unexplained, orphaned, unknown].flatMap(statement => statement.pluck().all()),
      ...miscounted(file),
    ]
  } finally {
    database.close()
  }
}

/** Where the tally differs from a count of the rows. */
export function miscounted(file: string): string[] {
  const database = openReadOnly(file)
  try {
    return database
      .prepare<[], string>(
        `SELECT 'protocol ' || protocol || ' state ' || state || ': counted ' || ifnull(tally.metrics, 0) || ', has ' || ifnull(found.metrics, 0)
         FROM (SELECT * FROM tally WHERE state <> 5 AND metrics > 0) AS tally
           FULL JOIN (SELECT protocol, state, count(*) AS metrics FROM outbox GROUP BY protocol, state) AS found USING (protocol, state)
         WHERE tally.metrics IS NOT found.metrics`,
      )
      .pluck()
      .all()
  } finally {
    database.close()
  }
}
