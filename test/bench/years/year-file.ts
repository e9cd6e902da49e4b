import { hourNumber, parseHour } from '../../../src/model/hour.ts'
import { outboxSchema } from '../../../src/outbox/sqlite/tables/schema.ts'
import { openDatabase } from '../../../src/sqlite/database.ts'

/** The hour after the last one in the file. */
export const currentHour = parseHour('2026-11-20T13:00:00Z')
export const collectorCount = 1_000
export const metricsEach = 5
const hours = 8_760
/** Hours whose values are kept: `outbox.keep`. */
const keptHours = 35 * 24

/** The collectors of the file: one of each protocol. */
export const names = Array.from({ length: collectorCount }, (_, index) => ({
  id: `p${index + 1}/c`,
  protocolId: `p${index + 1}`,
}))

/** Makes an outbox of a year of hours, all of them delivered, in the real schema; ten seconds. */
export function makeYear(file: string): void {
  const database = openDatabase(file, outboxSchema)
  database.pragma('synchronous = OFF')
  database.pragma('foreign_keys = OFF')
  const end = hourNumber(currentHour)
  const counted = (from: number, to: number) =>
    `WITH RECURSIVE n (i) AS (VALUES (${from}) UNION ALL SELECT i + 1 FROM n WHERE i < ${to})`
  const isKept = `i >= ${end - keptHours}`
  database.exec(`BEGIN;
    ${counted(1, collectorCount)} INSERT INTO collector SELECT i, 'p' || i || '/c', ${end - hours} FROM n;
    ${counted(1, collectorCount)} INSERT INTO protocol SELECT i, 'p' || i FROM n;
    ${counted(0, collectorCount * metricsEach - 1)} INSERT INTO metric (id, name, protocol, collector)
      SELECT i + 1, 'p' || (i / ${metricsEach} + 1) || '___Label' || (i % ${metricsEach}), i / ${metricsEach} + 1, i / ${metricsEach} + 1 FROM n;
    INSERT INTO description SELECT id, ${end - hours}, 'USD', NULL FROM metric;
    ${counted(end - hours, end - 1)} INSERT INTO collection (hour, collector, state, attempts, metrics, digest)
      SELECT i, id, 1, 1, iif(${isKept}, ${metricsEach}, NULL), iif(${isKept}, (i * id * 2654435761) & 0xffffffff, NULL) FROM n CROSS JOIN collector;
    ${counted(end - keptHours, end - 1)} INSERT INTO outbox (hour, metric, protocol, state, value)
      SELECT i, id, protocol, 1, i * 0.37 + id FROM n CROSS JOIN metric;
    INSERT INTO planned SELECT id, ${end - 1} FROM collector;
    INSERT INTO tally SELECT id, 1, ${keptHours * metricsEach} FROM protocol;
    COMMIT`)
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
}
