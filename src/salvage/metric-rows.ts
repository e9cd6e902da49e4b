import { rmSync } from 'node:fs'
import type { Sqlite } from '../sqlite/database.ts'
import type { CellValue } from './pages/record.ts'

/** A metric of an hour, taken out of a run. */
export interface UnpackedMetric {
  /** In hours since 1970. */
  readonly hour: number
  /** Number of the metric. */
  readonly number: number
  /** Number of its protocol. */
  readonly protocol: number
  /** Number of its state. */
  readonly state: number
  /** In milliseconds since 1970. */
  readonly collectedMs: number
  /** In milliseconds since 1970. */
  readonly deliveredMs: number
  readonly value: number
}

/** Translates between rows of `outbox`, each a run of metrics, and metrics. */
export interface RunForm {
  /** The metrics of a row; none when it is not as it was stored. */
  readonly unpack: (row: readonly CellValue[]) => readonly UnpackedMetric[]
  /** Rows of metrics that are sorted by hour and number. */
  readonly pack: (sorted: readonly UnpackedMetric[]) => readonly (readonly CellValue[])[]
}

/** Metrics packed at a time. */
const packedAtOnce = 10_000

/**
 * Makes an empty table `metric_row (hour, metric, protocol, state, collected_ms, delivered_ms, value)`: of a damaged file each metric is judged alone,
 * and runs found at different places may overlap. It is in a file of its own, which is removed at the end.
 *
 * @param file next to the one that is made, where there is room
 */
export function withMetricRows<T>(database: Sqlite, file: string, act: () => T): T {
  rmSync(file, { force: true })
  database.prepare('ATTACH ? AS work').run(file)
  database.pragma('work.journal_mode = OFF')
  database.pragma('work.synchronous = OFF')
  database.exec(metricRows('work'))
  try {
    return act()
  } finally {
    database.exec('DETACH work')
    rmSync(file, { force: true })
  }
}

/** The table of metrics taken out of their runs. */
export function metricRows(schema: 'work' | 'temp'): string {
  return `CREATE TABLE ${schema}.metric_row (
    hour INTEGER NOT NULL CHECK (hour > 0),
    metric INTEGER NOT NULL,
    protocol INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
    collected_ms INTEGER NOT NULL,
    delivered_ms INTEGER NOT NULL,
    value REAL NOT NULL CHECK (abs(value) <= 1.7976931348623157e308),
    PRIMARY KEY (hour, metric)
  ) STRICT, WITHOUT ROWID`
}

/** Copies `metric_row` into `outbox`, in runs. Within a transaction. */
export function packMetricRows(database: Sqlite, { pack }: RunForm): void {
  const next = database.prepare<[number, number, number], UnpackedMetric>(
    `SELECT hour, metric AS number, protocol, state, collected_ms AS collectedMs, delivered_ms AS deliveredMs, value FROM metric_row WHERE (hour, metric) > (?, ?)
     ORDER BY hour, metric LIMIT ?`,
  )
  const insert =
    database.prepare(`INSERT INTO outbox (hour, first, protocol, state, collected_ms, delivered_ms, metrics, digest, metric_values)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  let last: UnpackedMetric | undefined
  do {
    const rows = next.all(last?.hour ?? 0, last?.number ?? 0, packedAtOnce)
    for (const run of pack(rows)) insert.run(...run)
    last = rows.at(-1)
  } while (last)
}
