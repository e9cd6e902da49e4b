import type { Sqlite } from '../sqlite/database.ts'

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
    DELETE FROM metric_row WHERE EXISTS (
      SELECT 1 FROM metric
        LEFT JOIN found ON found.hour = metric_row.hour AND found.collector = metric.collector
        LEFT JOIN collection ON collection.hour = metric_row.hour AND collection.collector = metric.collector
      WHERE metric.id = metric_row.metric AND CASE
        WHEN collection.metrics = found.metrics AND collection.digest = found.digest THEN 0
        WHEN collection.metrics = found.metrics AND collection.digest IS NOT NULL THEN 1
        ELSE EXISTS (SELECT 1 FROM doubt WHERE doubt.hour = metric_row.hour AND doubt.metric = metric_row.metric) END);
    DELETE FROM detained WHERE NOT EXISTS (SELECT 1 FROM metric_row WHERE metric_row.hour = detained.hour AND metric_row.metric = detained.metric);
    DELETE FROM earlier_value WHERE NOT EXISTS (SELECT 1 FROM metric_row WHERE metric_row.hour = earlier_value.hour AND metric_row.metric = earlier_value.metric);
    DELETE FROM found;
    ${find}
  `)
}

const find = `
  INSERT INTO found SELECT hour, collector, count(*), sum(row_digest(hour, metric, value)) & 0xffffffff
    FROM metric_row JOIN metric ON metric.id = metric_row.metric GROUP BY hour, collector;`
