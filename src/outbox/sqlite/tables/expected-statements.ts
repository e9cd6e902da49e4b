import type { Sqlite } from '../../../sqlite/database.ts'
import type { GapCount } from '../../contract/status-store.ts'
import { failuresCharsMax, type RawHour, type RawLate } from '../../rows/hour-rows.ts'

const own = 'collector = (SELECT id FROM collector WHERE name = +?)'

interface DueBound {
  /** Names of collectors, as JSON. */
  readonly asked: string
  readonly current: number
  readonly nowMs: number
  /** A next attempt after it was written by a wrong clock. */
  readonly soonMs: number
  readonly limit: number
}

/** Who is expected, and up to which hour its rows are planned. */
export function collectorStatements(database: Sqlite) {
  return {
    addCollector: database.prepare<[string, number]>(
      'INSERT INTO collector (name, since) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET since = min(since, excluded.since)',
    ),
    addUnscheduled: database.prepare<[string, number]>(
      'INSERT INTO collector (name, since) VALUES (?, ?) ON CONFLICT DO NOTHING',
    ),
    since: database.prepare<[string], { since: number }>('SELECT since FROM collector WHERE name = ?'),
    planned: database.prepare<[string], number>(`SELECT hour FROM planned WHERE ${own}`).pluck(),
    setPlanned: database.prepare<[number, string]>(
      `INSERT INTO planned (collector, hour) SELECT id, ? FROM collector WHERE name = ?
       ON CONFLICT (collector) DO UPDATE SET hour = excluded.hour`,
    ),
  }
}

/** Statements that read expected hours. */
export function readingStatements(database: Sqlite) {
  return {
    // This and the next read only the index: hours that wait for their next attempt cost no row.
    due: database.prepare<DueBound, Omit<RawHour, 'state'>>(
      `SELECT collector.name AS collector, collection.hour, attempts, fault FROM json_each(@asked) AS asked
         CROSS JOIN collector ON collector.name = asked.value
         CROSS JOIN collection ON collection.collector = collector.id AND collection.hour IN (
           SELECT hour FROM collection AS due WHERE due.state = 0 AND due.collector = collector.id AND due.hour <= @current
             AND (due.next_attempt_ms <= @nowMs OR due.next_attempt_ms > @soonMs) ORDER BY due.hour DESC LIMIT +@limit)
       ORDER BY asked.key, collection.hour DESC`,
    ),
    late: database.prepare<[number, string], RawLate>(
      `WITH late AS (
         SELECT id, name, count(*) AS hours, min(hour) AS oldest FROM collector JOIN collection ON collector = id AND state = 0
           AND hour <= ? WHERE name IN (SELECT value FROM json_each(?)) GROUP BY id)
       SELECT name AS collector, hours, oldest, fault FROM late JOIN collection ON collector = id AND hour = oldest ORDER BY name`,
    ),
    missing: database
      .prepare<{ asked: string; hour: number }, string>(
        `SELECT asked.value ->> 0 FROM json_each(@asked) AS asked LEFT JOIN collector ON collector.name = asked.value ->> 0
         WHERE coalesce(since, asked.value ->> 1, @hour) <= @hour
           AND NOT EXISTS (SELECT 1 FROM collection AS here WHERE here.hour = @hour AND here.collector = collector.id)`,
      )
      .pluck(),
    nextAttempt: database.prepare<[number], { at: number | null }>(
      'SELECT min(next_attempt_ms) AS at FROM collection WHERE state = 0 AND next_attempt_ms > ?',
    ),
    row: database.prepare<[number, string], Pick<RawHour, 'state' | 'attempts' | 'fault'>>(
      `SELECT state, attempts, fault FROM collection WHERE hour = ? AND ${own}`,
    ),
    failures: database
      .prepare<[number, string], string | null>(`SELECT failures FROM collection WHERE hour = ? AND ${own}`)
      .pluck(),
    ends: database
      .prepare<[], [oldest: number | null, newest: number | null]>(
        'SELECT (SELECT min(hour) FROM collection), (SELECT max(hour) FROM collection)',
      )
      .raw(),
    between: database.prepare<[number, number], RawHour>(
      `SELECT name AS collector, hour, state, attempts, fault FROM collection JOIN collector ON collector.id = collector
       WHERE hour BETWEEN ? AND ? ORDER BY hour, name`,
    ),
    gapCounts: database.prepare<{ asked: string; from: number; to: number }, GapCount>(
      `SELECT name AS collector, fault_code AS code, count(*) AS hours
       FROM collector CROSS JOIN collection ON collection.collector = collector.id
       WHERE name IN (SELECT value FROM json_each(@asked)) AND state = 2 AND hour BETWEEN @from AND @to
       GROUP BY name, code ORDER BY name, code`,
    ),
    newestCollected: database
      .prepare<[], number>('SELECT hour FROM collection WHERE state = 1 ORDER BY hour DESC LIMIT 1')
      .pluck(),
    metrics: database
      .prepare<[number, string], number>(
        `SELECT metric.id FROM outbox CROSS JOIN metric ON metric.id BETWEEN first AND first + metrics - 1
         WHERE hour = ? AND metric.${own}`,
      )
      .pluck(),
  }
}

/** Statements that write expected hours. */
export function writingStatements(database: Sqlite) {
  return {
    expect: database.prepare<[number, string]>(
      'INSERT INTO collection (hour, collector) SELECT ?, id FROM collector WHERE name = ? ON CONFLICT DO NOTHING',
    ),
    closeBefore: database.prepare<[string, string, number, string]>(
      `UPDATE collection SET state = 2, fault = coalesce(fault, ?), fault_code = coalesce(fault_code, ?) WHERE state = 0 AND hour < ? AND ${own}`,
    ),
    reopen: database.prepare<[number, string]>(
      `UPDATE collection SET state = 0, fault = NULL, fault_code = NULL WHERE state = 2 AND hour = ? AND ${own}`,
    ),
    reopenTooOld: database.prepare<[number, string]>(
      `UPDATE collection SET state = 0, fault = NULL, fault_code = NULL
       WHERE state = 2 AND hour >= ? AND fault_code = 'hour-too-old' AND ${own}`,
    ),
    withdraw: database.prepare<[number, string, number]>(
      `DELETE FROM collection WHERE (hour, collector) IN
       (SELECT hour, collector FROM collection WHERE hour > ? AND state <> 1 AND ${own} LIMIT +?)`,
    ),
    collected: database.prepare<[number, string]>(
      `UPDATE collection SET state = 1, attempts = attempts + 1, next_attempt_ms = 0, fault = NULL, fault_code = NULL
       WHERE state <> 1 AND hour = ? AND ${own}`,
    ),
    addCollected: database.prepare<[number, number, number, number | null, string]>(
      `INSERT INTO collection (hour, state, attempts, metrics, digest, provenance, collector) SELECT ?, 1, 1, ?, ?, ?, id FROM collector WHERE name = ?
       ON CONFLICT DO NOTHING`,
    ),
    gap: database.prepare<[number, string, string, string]>(
      `INSERT INTO collection (hour, state, attempts, fault, fault_code, collector) SELECT ?, 2, 1, ?, ?, id FROM collector WHERE name = ?
       ON CONFLICT DO UPDATE SET state = 2, attempts = attempts + 1, fault = excluded.fault, fault_code = excluded.fault_code WHERE state = 0`,
    ),
    failed: database.prepare<[number, string, string, string, number, string]>(
      `UPDATE collection SET attempts = attempts + 1, next_attempt_ms = ?, fault = ?, fault_code = ?,
         failures = substr(? || char(10) || coalesce(failures, ''), 1, ${failuresCharsMax})
       WHERE state = 0 AND hour = ? AND ${own}`,
    ),
    endRetryWaits: database.prepare<[string]>(
      `UPDATE collection SET next_attempt_ms = 0 WHERE state = 0 AND next_attempt_ms > 0
         AND collector IN (SELECT id FROM collector WHERE name IN (SELECT value FROM json_each(?)))`,
    ),
    addMetrics: database.prepare<[number, number, number | null, number, string]>(
      `UPDATE collection SET metrics = metrics + ?, digest = (digest + ?) & 0xffffffff, provenance = coalesce(?, provenance)
       WHERE hour = ? AND ${own}`,
    ),
  }
}
