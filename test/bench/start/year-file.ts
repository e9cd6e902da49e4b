import { type Hour, hourNumber, parseHour } from '../../../src/model/hour.ts'
import { outboxSchema } from '../../../src/outbox/sqlite/outbox-salvage.ts'
import { openDatabase } from '../../../src/sqlite/database.ts'

/** The hour after the last one in the file. */
export const currentHour = parseHour('2026-11-20T13:00:00Z')

/** Amounts in a file. */
interface YearSize {
  readonly collectors: number
  readonly metricsEach: number
  readonly hours: number
  /** Hours whose values are kept: `outbox.keep`. */
  readonly keptHours: number
  /** The hour after the last one. */
  readonly end: Hour
}

const year: YearSize = { collectors: 1_000, metricsEach: 5, hours: 8_760, keptHours: 35 * 24, end: currentHour }

/** The collectors of a file of a year: one of each protocol. */
export const names = Array.from({ length: year.collectors }, (_, index) => ({
  id: `p${index + 1}/c`,
  protocolId: `p${index + 1}`,
}))

/** Makes an outbox of hours that are all delivered, in the real schema; of a year in ten seconds. */
export function makeYear(file: string, size: YearSize = year): void {
  const { collectors, metricsEach, hours, keptHours } = size
  const database = openDatabase(file, outboxSchema)
  database.pragma('synchronous = OFF')
  database.pragma('foreign_keys = OFF')
  const end = hourNumber(size.end)
  const counted = (from: number, to: number) =>
    `WITH RECURSIVE n (i) AS (VALUES (${from}) UNION ALL SELECT i + 1 FROM n WHERE i < ${to})`
  const isKept = `i >= ${end - keptHours}`
  database.exec(`BEGIN;
    ${counted(1, collectors)} INSERT INTO collector SELECT i, 'p' || i || '/c', ${end - hours} FROM n;
    ${counted(1, collectors)} INSERT INTO protocol SELECT i, 'p' || i FROM n;
    ${counted(0, collectors * metricsEach - 1)} INSERT INTO metric (id, name, protocol, collector)
      SELECT i + 1, 'p' || (i / ${metricsEach} + 1) || '___Label' || (i % ${metricsEach}), i / ${metricsEach} + 1, i / ${metricsEach} + 1 FROM n;
    INSERT INTO description SELECT id, ${end - hours}, 'USD', NULL FROM metric;
    ${counted(end - hours, end - 1)} INSERT INTO collection (hour, collector, state, attempts, metrics, digest)
      SELECT i, id, 1, 1, iif(${isKept}, ${metricsEach}, NULL), iif(${isKept}, (i * id * 2654435761) & 0xffffffff, NULL) FROM n CROSS JOIN collector;
    ${counted(end - keptHours, end - 1)} INSERT INTO outbox (hour, metric, protocol, state, value, collected_ms, delivered_ms)
      SELECT i, id, protocol, 1, 0, i * 3600000, i * 3600000 FROM n CROSS JOIN metric ORDER BY i, id;
    INSERT INTO planned SELECT id, ${end - 1} FROM collector;
    INSERT INTO tally SELECT id, 1, ${keptHours * metricsEach} FROM protocol;
    COMMIT`)
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
}
