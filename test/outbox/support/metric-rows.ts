import type Database from 'better-sqlite3'

/**
 * Lets statements see each metric as a row: `metric_row (hour, metric, protocol, state, value, collected_ms, delivered_ms)`. Its bytes are read without
 * the code of the outbox.
 */
export function seeMetricRows(database: Database.Database): void {
  database.table('each_value', {
    parameters: ['bytes'],
    columns: ['place', 'value'],
    *rows(bytes) {
      if (!(bytes instanceof Uint8Array)) throw new TypeError('a run without values')
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      for (let at = 0; at < bytes.byteLength; at += 8) yield [at / 8, view.getFloat64(at, true)]
    },
  })
  database.exec(`CREATE TEMP VIEW metric_row AS
    SELECT hour, first + place AS metric, protocol, state, each_value.value AS value,
      collected_ms, delivered_ms FROM outbox CROSS JOIN each_value(metric_values)`)
}
