import type { Sqlite } from '../sqlite/database.ts'

/**
 * A row whose number was changed by the damage: nothing refers to it, and the index has another number for its name.
 */
const renumbered = `
  DELETE FROM collector WHERE id NOT IN (SELECT collector FROM collection)
    AND EXISTS (SELECT 1 FROM named WHERE kind = 'collector' AND named.name = collector.name AND named.id <> collector.id);
  DELETE FROM protocol WHERE id NOT IN (SELECT protocol FROM metric)
    AND EXISTS (SELECT 1 FROM named WHERE kind = 'protocol' AND named.name = protocol.name AND named.id <> protocol.id);
  DELETE FROM metric WHERE id NOT IN (SELECT metric FROM metric_row)
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

/** Lists hours of protocols with fewer due metrics than were counted. */
const undercounted = `
  DELETE FROM undercounted;
  INSERT INTO undercounted (hour, protocol) SELECT due_count.hour, due_count.protocol FROM due_count
    LEFT JOIN (SELECT hour, protocol, count(*) AS metrics FROM metric_row WHERE state = 0 GROUP BY hour, protocol) AS found USING (hour, protocol)
    WHERE due_count.metrics > coalesce(found.metrics, 0);
`

/**
 * Deletes references to lost rows, resolves contradicting states to the one that loses nothing, and restores what
 * follows from other rows. Where fewer metrics are due than were counted, the delivered ones are due again: to send
 * them once more only updates.
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
  DELETE FROM metric_row WHERE hour > max(@hour, (SELECT coalesce(max(hour), 0) FROM collection));
  DELETE FROM metric_row WHERE NOT EXISTS (SELECT 1 FROM metric WHERE metric.id = metric_row.metric AND metric.protocol = metric_row.protocol);
  DELETE FROM detained WHERE NOT EXISTS (SELECT 1 FROM metric_row WHERE metric_row.hour = detained.hour AND metric_row.metric = detained.metric
    AND (state = iif(kind = 'refused', 2, 3)
      OR NOT EXISTS (SELECT 1 FROM doubt_detained AS doubtful WHERE doubtful.hour = metric_row.hour AND doubtful.metric = metric_row.metric)));
  UPDATE metric_row SET state = iif(kind = 'refused', 2, 3) FROM detained WHERE detained.hour = metric_row.hour AND detained.metric = metric_row.metric;
  ${undercounted}
  UPDATE metric_row SET state = 0 WHERE state IN (2, 3) AND (hour, protocol) IN (SELECT hour, protocol FROM undercounted)
    AND NOT EXISTS (SELECT 1 FROM detained WHERE detained.hour = metric_row.hour AND detained.metric = metric_row.metric);
  ${undercounted}
  UPDATE metric_row SET state = 0 WHERE state = 1 AND (hour, protocol) IN (SELECT hour, protocol FROM undercounted);
  INSERT INTO detained (hour, metric, kind, reason, at_ms)
    SELECT hour, metric, iif(state = 2, 'refused', 'bounds'), 'the reason was lost in a damaged outbox', @nowMs FROM metric_row
    WHERE state IN (2, 3) AND NOT EXISTS (SELECT 1 FROM detained WHERE detained.hour = metric_row.hour AND detained.metric = metric_row.metric);
`

/** Counts, from the rows; the count of pruned rows (5) is kept. */
const counted = `
  DELETE FROM tally WHERE state <> 5 OR protocol NOT IN (SELECT id FROM protocol);
  INSERT INTO tally (protocol, state, metrics) SELECT protocol, state, sum(metrics) FROM outbox WHERE state > 1 GROUP BY protocol, state;
  INSERT INTO tally (protocol, state, metrics) SELECT protocol, 6, sum(metrics) FROM outbox GROUP BY protocol;
  DELETE FROM due_count;
  INSERT INTO due_count (protocol, hour, metrics) SELECT protocol, hour, sum(metrics) FROM outbox WHERE state = 0 GROUP BY protocol, hour;
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

/** Dependencies of `mend`. */
export interface MendDeps {
  /** The current hour, in hours since 1970. */
  readonly hour: number
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** Ids of the configured collectors, as JSON. */
  readonly collectors: string
}

/** Makes the salvaged rows consistent: every reference leads to a row, every dead or held metric has a reason. */
export function mend(database: Sqlite, context: MendDeps): void {
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
  const lost = database.prepare<[], { id: number; name: string }>(
    "SELECT id, name FROM named WHERE kind = 'metric' AND name IS NOT NULL AND id NOT IN (SELECT id FROM metric)",
  )
  const protocolOf = database
    .prepare<[number], number>('SELECT protocol FROM metric_row WHERE metric = ? LIMIT 1')
    .pluck()
  // No collector has the number 0: it is replaced by those whose collector is unknown.
  const add = database.prepare<{ id: number; name: string; protocol: number }>(
    'INSERT OR IGNORE INTO metric (id, name, protocol, collector) VALUES (@id, @name, @protocol, 0)',
  )
  for (const { id, name } of lost.all()) {
    const protocol = protocolOf.get(id)
    if (protocol !== undefined) add.run({ id, name, protocol })
  }
}

function runAll(database: Sqlite, sql: string, context: MendDeps): void {
  for (const statement of sql.split(';').map(text => text.trim())) {
    if (statement === '') continue
    const prepared = database.prepare(statement)
    if (statement.includes('@')) prepared.run(context)
    else prepared.run()
  }
}
