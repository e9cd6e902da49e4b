import { Fault, faultRecord } from '../model/fault.ts'
import { type Hour, hourFromNumber } from '../model/hour.ts'
import type { Sqlite } from '../sqlite/database.ts'

/**
 * A row whose number was changed by the damage: nothing refers to it, and the index has another number for its name.
 */
const renumbered = `
  DELETE FROM collector WHERE id NOT IN (SELECT collector FROM collection)
    AND EXISTS (SELECT 1 FROM named WHERE kind = 'collector' AND named.name = collector.name AND named.id <> collector.id);
  DELETE FROM protocol WHERE id NOT IN (SELECT protocol FROM metric)
    AND EXISTS (SELECT 1 FROM named WHERE kind = 'protocol' AND named.name = protocol.name AND named.id <> protocol.id);
  DELETE FROM metric WHERE id NOT IN (SELECT metric FROM outbox)
    AND EXISTS (SELECT 1 FROM named WHERE kind = 'metric' AND named.name = metric.name AND named.id <> metric.id);
`

/**
 * Restores names. A lost row comes back from the index of names. Where row and index differ, one of them was changed: a
 * protocol is named as its metrics' ids begin, a collector as configured; a metric is removed, with its values. A lost
 * collector starts at the oldest hour after which almost none is missing, since a backfill leaves holes before it.
 */
const names = `
  UPDATE named SET name = NULL WHERE kind = 'metric' AND EXISTS (SELECT 1 FROM metric WHERE metric.id = named.id AND metric.name <> named.name);
  DELETE FROM metric WHERE id IN (SELECT id FROM named WHERE kind = 'metric' AND name IS NULL);
  UPDATE protocol SET name = named.name FROM named WHERE kind = 'protocol' AND named.id = protocol.id AND named.name <> protocol.name
    AND EXISTS (SELECT 1 FROM metric WHERE metric.protocol = protocol.id AND substr(metric.name, 1, length(named.name) + 3) = named.name || '___');
  UPDATE collector SET name = named.name FROM named WHERE kind = 'collector' AND named.id = collector.id
    AND named.name <> collector.name AND named.name IN (SELECT value FROM json_each(@collectors));
  INSERT OR IGNORE INTO collector (id, name, since)
    SELECT id, name, coalesce((SELECT min(hour) FROM (
        SELECT hour, count(*) OVER (ORDER BY hour DESC) AS there, max(hour) OVER () - hour + 1 AS hours FROM collection WHERE collector = named.id)
      WHERE 10 * there >= 9 * hours), @hour) FROM named WHERE kind = 'collector';
  INSERT OR IGNORE INTO protocol (id, name) SELECT id, name FROM named WHERE kind = 'protocol';
`

/**
 * Deletes references to lost rows, resolves contradicting states to the one that loses nothing, and restores what
 * follows from other rows. A metric that the index of due ones lists is due again if it seems delivered: to send it once
 * more only updates.
 */
const mended = `
  INSERT OR IGNORE INTO protocol (id, name)
    SELECT DISTINCT protocol, substr(name, 1, instr(name, '___') - 1) FROM metric WHERE protocol NOT IN (SELECT id FROM protocol);
  DELETE FROM metric WHERE protocol NOT IN (SELECT id FROM protocol);
  UPDATE metric SET collector = coalesce((SELECT min(collector.id) FROM collector JOIN protocol ON protocol.id = metric.protocol
      WHERE substr(collector.name, 1, length(protocol.name) + 1) = protocol.name || '/'), collector)
    WHERE collector NOT IN (SELECT id FROM collector);
  INSERT OR IGNORE INTO collector (id, name, since)
    SELECT DISTINCT metric.collector, protocol.name || '/lost-' || metric.collector, @hour
    FROM metric JOIN protocol ON protocol.id = metric.protocol WHERE metric.collector NOT IN (SELECT id FROM collector);
  DELETE FROM collection WHERE collector NOT IN (SELECT id FROM collector);
  UPDATE collection SET provenance = NULL WHERE provenance NOT IN (SELECT id FROM provenance);
  DELETE FROM pin WHERE collector NOT IN (SELECT id FROM collector);
  DELETE FROM backfill_failure WHERE collector NOT IN (SELECT id FROM collector);
  DELETE FROM description WHERE metric NOT IN (SELECT id FROM metric);
  DELETE FROM outbox WHERE hour > max(@hour, (SELECT coalesce(max(hour), 0) FROM collection));
  DELETE FROM outbox WHERE NOT EXISTS (SELECT 1 FROM metric WHERE metric.id = outbox.metric AND metric.protocol = outbox.protocol);
  DELETE FROM detained WHERE NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.hour = detained.hour AND outbox.metric = detained.metric
    AND (state = iif(kind = 'refused', 2, 3)
      OR NOT EXISTS (SELECT 1 FROM doubt_detained AS doubtful WHERE doubtful.hour = outbox.hour AND doubtful.metric = outbox.metric)));
  UPDATE outbox SET state = iif(kind = 'refused', 2, 3) FROM detained WHERE detained.hour = outbox.hour AND detained.metric = outbox.metric;
  UPDATE outbox SET state = 0 WHERE state IN (1, 2, 3) AND (hour, metric) IN (SELECT hour, metric FROM seen_due)
    AND NOT EXISTS (SELECT 1 FROM detained WHERE detained.hour = outbox.hour AND detained.metric = outbox.metric);
  INSERT INTO detained (hour, metric, kind, reason, at_ms, is_private)
    SELECT hour, metric, iif(state = 2, 'refused', 'bounds'), 'the reason was lost in a damaged outbox', @nowMs,
      metric IN (SELECT metric FROM outbox WHERE state = 6) FROM outbox
    WHERE state IN (2, 3) AND NOT EXISTS (SELECT 1 FROM detained WHERE detained.hour = outbox.hour AND detained.metric = outbox.metric);
`

/** Counts, from the rows; the count of pruned rows (5) is kept. */
const counted = `
  DELETE FROM tally WHERE state <> 5 OR protocol NOT IN (SELECT id FROM protocol);
  INSERT INTO tally (protocol, state, metrics) SELECT protocol, state, count(*) FROM outbox GROUP BY protocol, state;
`

/**
 * Progress of planned hours, from the rows. Finding it later, collector by collector, would take a second for each ten.
 */
const planned = `
  DELETE FROM planned;
  INSERT INTO planned (collector, hour)
    SELECT collector, max(hour) FROM (
      SELECT collector, hour, since, row_number() OVER (PARTITION BY collector ORDER BY hour) AS place
      FROM collection JOIN collector ON collector.id = collection.collector WHERE hour >= since)
    WHERE hour - since = place - 1 GROUP BY collector;
`

/** Parameters of the statements that mend. */
interface MendParameters {
  /** The current hour, in hours since 1970. */
  readonly hour: number
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** Ids of the configured collectors, as JSON. */
  readonly collectors: string
}

/** Makes the salvaged rows consistent: every reference leads to a row, every dead or held metric has a reason. */
export function mend(database: Sqlite, context: MendParameters): void {
  runAll(database, renumbered, context)
  runAll(database, names, context)
  nameMetrics(database)
  runAll(database, mended, context)
}

/** Counts the rows again, and the unbroken run of each collector's hours. */
export function recount(database: Sqlite): void {
  database.exec(counted)
  database.exec(planned)
}

/**
 * Restores metrics whose own row is lost. They are assigned to a collector of their protocol until they are collected.
 */
function nameMetrics(database: Sqlite): void {
  const lostMetrics = database.prepare<[], { id: number; name: string }>(
    "SELECT id, name FROM named WHERE kind = 'metric' AND name IS NOT NULL AND id NOT IN (SELECT id FROM metric)",
  )
  const protocolOf = database.prepare<[number], number>('SELECT protocol FROM outbox WHERE metric = ? LIMIT 1').pluck()
  // No collector has the number 0: it is replaced by those whose collector is unknown.
  const add = database.prepare<{ id: number; name: string; protocol: number }>(
    'INSERT OR IGNORE INTO metric (id, name, protocol, collector) VALUES (@id, @name, @protocol, 0)',
  )
  for (const { id, name } of lostMetrics.all()) {
    const protocol = protocolOf.get(id)
    if (protocol !== undefined) add.run({ id, name, protocol })
  }
}

function runAll(database: Sqlite, sql: string, context: MendParameters): void {
  for (const statement of sql.split(';').map(text => text.trim())) {
    if (statement === '') continue
    const prepared = database.prepare(statement)
    if (statement.includes('@')) prepared.run(context)
    else prepared.run()
  }
}

/**
 * Digest of a metric's value: the metric by its number, the hour in hours since 1970. The hour's row has the sum over
 * its metrics.
 */
export type RowDigest = (hour: number, metric: number, value: number) => number

/**
 * Removes metrics whose value may have changed: those of hours whose digest differs, and those of a page that is not in
 * order unless their hour's digest matches. Leaves the counts before and after in the temporary table `found (hour,
 * collector, metrics, digest)`.
 */
export function takeOutDoubtful(database: Sqlite, rowDigest: RowDigest): void {
  database.function('row_digest', { deterministic: true }, (hour, metric, value) =>
    rowDigest(Number(hour), Number(metric), Number(value)),
  )
  database.exec(`
    CREATE TEMP TABLE found (hour INTEGER, collector INTEGER, metrics INTEGER, digest INTEGER, PRIMARY KEY (hour, collector)) WITHOUT ROWID;
    ${find}
    DELETE FROM outbox WHERE EXISTS (
      SELECT 1 FROM metric
        LEFT JOIN found ON found.hour = outbox.hour AND found.collector = metric.collector
        LEFT JOIN collection ON collection.hour = outbox.hour AND collection.collector = metric.collector
      WHERE metric.id = outbox.metric AND CASE
        WHEN collection.metrics = found.metrics AND collection.digest = found.digest THEN 0
        WHEN collection.metrics = found.metrics AND collection.digest IS NOT NULL THEN 1
        ELSE EXISTS (SELECT 1 FROM doubt WHERE doubt.hour = outbox.hour AND doubt.metric = outbox.metric) END);
    DELETE FROM detained WHERE NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.hour = detained.hour AND outbox.metric = detained.metric);
    DELETE FROM earlier_value WHERE NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.hour = earlier_value.hour AND outbox.metric = earlier_value.metric);
    DELETE FROM found;
    ${find}
  `)
}

const find = `
  INSERT INTO found SELECT hour, collector, count(*), sum(row_digest(hour, metric, value)) & 0xffffffff
    FROM outbox JOIN metric ON metric.id = outbox.metric GROUP BY hour, collector;`

/** Hours of a collector to be collected again. */
export interface LostHours {
  readonly collector: string
  readonly hours: number
  readonly oldest: Hour
  readonly newest: Hour
}

/** Where lost hours are searched for, in hours since 1970. */
interface LostSince {
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
  const completeHours = database.prepare<[], { hour: number; collector: number }>(complete).all()
  const take = database.prepare('DELETE FROM lost WHERE hour = @hour AND collector = @collector')
  for (const row of completeHours) take.run(row)
  const dueAgainSql = `INSERT INTO collection (hour, collector, state, fault, fault_code, metrics, digest)
    SELECT lost.hour, lost.collector, 0, ?, ?, coalesce(found.metrics, 0), coalesce(found.digest, 0)
    FROM lost LEFT JOIN found USING (hour, collector) WHERE true
    ON CONFLICT (hour, collector) DO UPDATE SET state = 0, attempts = 0, next_attempt_ms = 0, fault = excluded.fault, fault_code = excluded.fault_code,
      metrics = excluded.metrics, digest = excluded.digest`
  database.prepare(dueAgainSql).run(fault, hourLost.code)
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
