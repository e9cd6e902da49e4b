import { Fault, faultRecord } from '../model/fault.ts'
import { type Hour, hourFromNumber } from '../model/hour.ts'
import type { Sqlite } from '../sqlite/database.ts'

/** Hours of a collector to be collected again. */
export interface LostHours {
  readonly collector: string
  /** Number of lost hours. */
  readonly hours: number
  /** The first lost hour. */
  readonly oldest: Hour
  /** The last lost hour. */
  readonly newest: Hour
}

/** Where lost hours are searched for, in hours since 1970. */
export interface LostSince {
  /** Hours without a row before it may have been pruned, and are not searched for. */
  readonly from: number
  /** The current hour. */
  readonly current: number
  /** Configured collectors, for a file in which none can be read, and since when. */
  readonly collectors: readonly string[]
  /** First expected hour of `collectors`. */
  readonly since: number
}

/**
 * Makes hours due again whose metrics or own row are lost: those with fewer metrics than their count, and those missing
 * between a collector's oldest and newest hour. The fault says why; an hour that cannot be collected any more becomes a
 * gap with it. Within a transaction, after `takeOutDoubtful`.
 */
export function listLostHours(database: Sqlite, { from, current, collectors, since }: LostSince): LostHours[] {
  const fault = JSON.stringify(faultRecord(hourLost))
  expectConfigured(database, collectors, since)
  database.exec('CREATE TEMP TABLE lost (hour INTEGER, collector INTEGER, PRIMARY KEY (hour, collector)) WITHOUT ROWID')
  database.prepare(incomplete).run(from)
  database.prepare(missing).run({ from, current, since })
  const found = database.prepare<[], { hour: number; collector: number }>(complete).all()
  const take = database.prepare('DELETE FROM lost WHERE hour = @hour AND collector = @collector')
  for (const row of found) take.run(row)
  const again = `INSERT INTO collection (hour, collector, state, fault, fault_code, metrics, digest)
    SELECT lost.hour, lost.collector, 0, ?, ?, coalesce(found.metrics, 0), coalesce(found.digest, 0)
    FROM lost LEFT JOIN found USING (hour, collector) WHERE true
    ON CONFLICT (hour, collector) DO UPDATE SET state = 0, attempts = 0, next_attempt_ms = 0, fault = excluded.fault, fault_code = excluded.fault_code,
      metrics = excluded.metrics, digest = excluded.digest`
  database.prepare(again).run(fault, hourLost.code)
  return database
    .prepare<[], { collector: string; hours: number; oldest: number; newest: number }>(
      `SELECT name AS collector, count(*) AS hours, min(hour) AS oldest, max(hour) AS newest
       FROM lost JOIN collector ON collector.id = lost.collector GROUP BY name ORDER BY name`,
    )
    .all()
    .map(({ oldest, newest, ...of }) => ({ ...of, oldest: hourFromNumber(oldest), newest: hourFromNumber(newest) }))
}

/** No collector row survived: inserts the configured ones, expected since the file's creation. */
function expectConfigured(database: Sqlite, collectors: readonly string[], since: number): void {
  if (database.prepare('SELECT 1 FROM collector').get() !== undefined) return
  const add = database.prepare('INSERT INTO collector (name, since) VALUES (?, ?)')
  for (const name of collectors) add.run(name, since)
}

/** Hours with fewer metrics than their count, or none. Pruned hours have no count. */
const incomplete = `
  INSERT INTO lost SELECT hour, collector FROM collection LEFT JOIN found USING (hour, collector)
    WHERE state = 1 AND (collection.metrics > coalesce(found.metrics, 0) OR (collection.metrics = 0 AND hour >= ?))`

/**
 * Hours without a row from a collector's oldest hour to its newest, but not before its start, where a backfill leaves
 * holes. If no row is left, from its start to now. Also hours with metrics but no row.
 */
const missing = `
  INSERT OR IGNORE INTO lost
    SELECT hour, collector FROM found WHERE hour >= @from
      AND NOT EXISTS (SELECT 1 FROM collection WHERE collection.hour = found.hour AND collection.collector = found.collector)
  UNION
    SELECT hour, collector FROM (
    WITH seen AS (
      SELECT collector, min(hour) AS first, max(hour) AS last
      FROM (SELECT collector, hour FROM collection UNION ALL SELECT collector, hour FROM found) GROUP BY collector),
    span AS (
      SELECT id AS collector, max(@from, since, coalesce(first, @since)) AS first, min(coalesce(last, @current), @current) AS last
      FROM collector LEFT JOIN seen ON seen.collector = id
      WHERE id IN (SELECT collector FROM collection) OR NOT EXISTS (SELECT 1 FROM collection)),
    expected (hour, collector, last) AS (
      SELECT first, collector, last FROM span WHERE first <= last
      UNION ALL SELECT hour + 1, collector, last FROM expected WHERE hour < last)
    SELECT hour, collector FROM expected
      WHERE NOT EXISTS (SELECT 1 FROM collection WHERE collection.hour = expected.hour AND collection.collector = expected.collector))`

/** Hours of which only the row is lost: they have as many metrics as the collected hour before or after. */
const complete = `
  INSERT INTO collection (hour, collector, state, attempts, metrics, digest)
    SELECT hour, collector, 1, 1, found.metrics, found.digest FROM lost JOIN found USING (hour, collector)
    WHERE NOT EXISTS (SELECT 1 FROM collection WHERE collection.hour = lost.hour AND collection.collector = lost.collector)
      AND found.metrics = coalesce(
        (SELECT metrics FROM collection AS near WHERE near.collector = lost.collector AND near.hour < lost.hour AND near.state = 1 ORDER BY near.hour DESC LIMIT 1),
        (SELECT metrics FROM collection AS near WHERE near.collector = lost.collector AND near.hour > lost.hour AND near.state = 1 ORDER BY near.hour LIMIT 1))
    RETURNING hour, collector`

const hourLost = new Fault('hour-lost', 'values of this hour were lost in a damaged outbox', {
  fix: 'it is collected again where that can be; the log says where the damaged file lies',
})
