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
    const unexplained = database.prepare<[], number>(
      `SELECT (SELECT count(*) FROM outbox WHERE state IN (2, 3)) - (SELECT count(*) FROM detained)`,
    )
    return [
      ...integrity.filter(text => text !== 'ok'),
      ...references.map(reference => `leads nowhere: ${JSON.stringify(reference)}`),
      ...(unexplained.pluck().get() === 0 ? [] : ['metrics are dead or held without a reason']),
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
           UNION ALL SELECT protocol, state, 0, count(*) FROM outbox GROUP BY protocol, state)
         GROUP BY protocol, state HAVING sum(tallied) <> sum(has)
         UNION ALL
         SELECT 'protocol ' || protocol || ' hour ' || hour || ': counted ' || ifnull(due_count.metrics, 0) || ' due, has ' || ifnull(found.metrics, 0)
         FROM due_count FULL JOIN (SELECT protocol, hour, count(*) AS metrics FROM outbox WHERE state = 0 GROUP BY protocol, hour) AS found
           USING (protocol, hour) WHERE due_count.metrics IS NOT found.metrics`,
      )
      .pluck()
      .all()
  } finally {
    database.close()
  }
}
