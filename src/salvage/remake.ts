import { statSync } from 'node:fs'
import { hourAt, hourNumber } from '../model/hour.ts'
import { catchUpHoursMax, hourMs } from '../model/limits.ts'
import { OtherSchemaError, openDatabase, type Schema, type Sqlite } from '../sqlite/database.ts'
import { fileFault } from '../sqlite/file-fault.ts'
import { freshFile, workFile } from './files.ts'
import { loadRows, prepareLoad } from './load.ts'
import { type LostHours, listLostHours } from './lost.ts'
import { mend, recount } from './mend.ts'
import { packMetricRows, type RunForm, withMetricRows } from './metric-rows.ts'
import { openPages, type PageFile } from './pages/pages.ts'
import { type RowDigest, takeOutDoubtful } from './verify.ts'

/** The tables of the file, as far as a salvage depends on them; it reads and repairs them by name. */
export interface SalvagedTables {
  readonly schema: Schema
  readonly rowDigest: RowDigest
  readonly runForm: RunForm
}

/** Dependencies of `remake`. */
export interface RemakeDeps {
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** Time for which delivered hours are kept, in milliseconds: older ones may have been pruned. */
  readonly keepMs: number
  /** Ids of the configured collectors, for a file in which none can be read. */
  readonly collectors: readonly string[]
}

/** Result of `remake`. */
export interface Made {
  /** Number of metrics in the new file. */
  readonly metrics: number
  /** Hours that are due again. */
  readonly lost: readonly LostHours[]
}

/**
 * Writes everything readable of a damaged file into a new one, under its working name next to `file`.
 *
 * @throws Fault `outbox-unusable` for a file of another version
 */
export function remake(damaged: string, file: string, tables: SalvagedTables, context: RemakeDeps): Made {
  const pages = openPages(damaged)
  try {
    requireVersion(pages, damaged, tables.schema.version)
    const database = openDatabase(freshFile(file), tables.schema)
    try {
      return withMetricRows(database, workFile(file), () => fill(database, pages, damaged, tables, context))
    } finally {
      database.close()
    }
  } finally {
    pages.close()
  }
}

/** Schema version of a file; this version if it cannot be read. */
function requireVersion({ version }: PageFile, damaged: string, known: number): void {
  if (version === undefined || version === 0 || version === known) return
  throw fileFault('the outbox', damaged, new OtherSchemaError(damaged, version, known))
}

function fill(
  database: Sqlite,
  pages: PageFile,
  damaged: string,
  { rowDigest, runForm }: SalvagedTables,
  context: RemakeDeps,
): Made {
  const { nowMs, keepMs, collectors } = context
  const current = hourNumber(hourAt(nowMs))
  database.pragma('foreign_keys = OFF')
  database.pragma('synchronous = OFF')
  load(database, pages, damaged, runForm)
  const lost = database
    .transaction(() => {
      mend(database, { hour: current, nowMs, collectors: JSON.stringify(collectors) })
      takeOutDoubtful(database, rowDigest)
      const from = hourNumber(hourAt(nowMs - keepMs))
      const hours = listLostHours(database, { from, current, collectors, since: bornHour(damaged, nowMs) })
      packMetricRows(database, runForm)
      recount(database)
      return hours
    })
    .immediate()
  database.pragma('synchronous = FULL')
  database.pragma('wal_checkpoint(TRUNCATE)')
  const metrics = database.prepare<[], number>('SELECT coalesce(sum(metrics), 0) FROM tally WHERE state = 6').pluck()
  return { metrics: metrics.get() ?? 0, lost }
}

/**
 * Loads the newest rows first. Frames after a gap in the log are newer, but a page split there may be half old. Pages
 * from before the gap then fill in what is missing.
 */
function load(database: Sqlite, pages: PageFile, damaged: string, form: RunForm): void {
  prepareLoad(database)
  loadRows(database, pages, form, 'newest')
  if (!pages.hasGap) return
  const older = openPages(damaged, 'unbroken')
  try {
    loadRows(database, older, form, 'older')
  } finally {
    older.close()
  }
}

/** Hour of the file's creation, as far as the disk knows; at most the catch-up range ago. */
function bornHour(file: string, nowMs: number): number {
  const born = statSync(file, { throwIfNoEntry: false })?.birthtimeMs ?? 0
  return hourNumber(hourAt(Math.min(nowMs, Math.max(born, nowMs - catchUpHoursMax * hourMs))))
}
