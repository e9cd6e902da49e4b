import type { Sqlite } from '../sqlite/database.ts'
import type { RunForm, UnpackedMetric } from './metric-rows.ts'
import type { CellValue } from './pages/record.ts'
import type { RescuedRow } from './pages/rescue.ts'

/**
 * Tables of what is found of runs, in the order in which it is found: rows and values lie on different pages, and belong
 * together where hour, first number and digest are the same.
 */
export const foundRuns = `
  CREATE TABLE work.found_run (place INTEGER PRIMARY KEY, hour INTEGER, first INTEGER, protocol, state, collected_ms, delivered_ms, metrics,
    digest INTEGER, is_sure INTEGER NOT NULL, is_older INTEGER NOT NULL);
  CREATE INDEX work.found_run_key ON found_run (hour, first);
  CREATE TABLE work.found_values (hour INTEGER, first INTEGER, digest INTEGER, metric_values BLOB, PRIMARY KEY (hour, first, digest)) WITHOUT ROWID`

/** Runs read at a time: a statement that is read row by row allows no write meanwhile. */
const runsAtOnce = 1_000

/** A run that was found with its values. */
export interface FoundRun {
  readonly metrics: readonly UnpackedMetric[]
  /** Whether the page of its row is in order; if not, its state may have changed. */
  readonly isSure: boolean
  /** Whether it is of an earlier version of the pages. */
  readonly isOlder: boolean
}

/** @returns a function that keeps a row of a run, or its values: whether it was one */
export function runKeeper(
  database: Sqlite,
  { digestOf }: RunForm,
  age: 'newest' | 'older',
): (row: RescuedRow) => boolean {
  const keepRun = database.prepare(
    'INSERT INTO found_run (hour, first, protocol, state, collected_ms, delivered_ms, metrics, digest, is_sure, is_older) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const keepValues = database.prepare('INSERT OR IGNORE INTO found_values VALUES (?, ?, ?, ?)')
  return ({ table, values, isSure }) => {
    if (table === 'outbox') {
      keepRun.run(...values, Number(isSure), Number(age === 'older'))
      return true
    }
    if (table !== 'run_values') return false
    const [hour, first, content] = values
    if (typeof hour !== 'number' || typeof first !== 'number' || !(content instanceof Uint8Array)) return true
    const bytes = Buffer.from(content)
    if (bytes.length % 8 === 0) keepValues.run(hour, first, digestOf(hour, first, bytes), bytes)
    return true
  }
}

/**
 * Whether metrics of an older run are dead, held or dropped in a newer one whose values are lost: as due ones they would
 * be sent.
 */
const isDecided = `EXISTS (SELECT 1 FROM found_run AS newer WHERE newer.hour = found_run.hour AND NOT newer.is_older
  AND newer.state IN (2, 3, 4) AND newer.first < found_run.first + found_run.metrics AND found_run.first < newer.first + newer.metrics)`

/** Hands out the runs whose values were found, in the order of their rows, each once. */
export function joinRuns(database: Sqlite, { unpack }: RunForm, handle: (run: FoundRun) => void): void {
  const next = database
    .prepare<[number, number], CellValue[]>(
      `SELECT hour, first, protocol, state, collected_ms, delivered_ms, metrics, digest, metric_values, place, is_sure, is_older
       FROM found_run JOIN found_values USING (hour, first, digest) WHERE place > ? AND NOT (is_older AND ${isDecided}) ORDER BY place LIMIT ?`,
    )
    .raw()
  let last = -1
  for (;;) {
    const runs = next.all(last, runsAtOnce)
    if (runs.length === 0) break
    for (const run of runs) {
      const [place, isSure, isOlder] = run.slice(-3)
      handle({ metrics: unpack(run.slice(0, -3)), isSure: isSure === 1, isOlder: isOlder === 1 })
      last = Number(place)
    }
  }
  database.exec('DELETE FROM found_run WHERE (hour, first, digest) IN (SELECT hour, first, digest FROM found_values)')
}
