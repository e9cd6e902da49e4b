import { statSync } from 'node:fs'
import { hourAt, hourNumber } from '../../model/hour.ts'
import { catchUpHoursMax, hourMs } from '../../model/limits.ts'
import { OtherSchemaError, openDatabase, type Sqlite } from '../../sqlite/database.ts'
import { fileFault } from '../../sqlite/file-fault.ts'
import { openPages, type PageFile } from '../../sqlite/pages.ts'
import { outboxSchema } from '../schema.ts'
import { callWhole, freshFile, moveAside, moveIn, nameFor, stampOf } from './files.ts'
import { loadRows, prepareLoad } from './load.ts'
import { type LostHours, listLostHours } from './lost.ts'
import { mend, recount } from './mend.ts'
import { takeOutDoubtful } from './verify.ts'

/** What a salvage knows of the world. */
export interface SalvageDeps {
  readonly nowMs: number
  /** How long settled hours are kept: what is older may be missing for good. */
  readonly keepMs: number
  /** Ids of the collectors that are expected, for a file in which none can be read. */
  readonly collectors: readonly string[]
}

/** What came of a damaged outbox. */
export interface Salvaged {
  /** What showed the damage. */
  readonly reason: string
  /** Where the damaged file lies. */
  readonly aside: string
  /** Metrics that are in the new outbox. */
  readonly metrics: number
  /** Hours that are due again. */
  readonly lost: readonly LostHours[]
}

/**
 * Makes a new outbox of all that can be read of a damaged one, puts it in its place, and keeps the damaged one beside it.
 * Nothing that is in the new one has another value than before; what is not is due again. Whoever calls this holds the
 * delivery role, and has the outbox closed.
 *
 * @throws Fault `outbox-unusable` for a file of another version
 */
export function salvage(file: string, reason: string, context: SalvageDeps): Salvaged {
  const at = nameFor(file, context.nowMs)
  const stamp = stampOf(file)
  const made = makeFrom(file, file, context)
  const aside = callWhole(file, at)
  moveAside(file, aside)
  // A command that had the outbox open may have stored something while it was read.
  const final = stampOf(aside) === stamp ? made : makeAgain(file, aside, at, context)
  moveIn(file, at)
  return { reason, aside, ...final }
}

function makeAgain(file: string, aside: string, at: string, context: SalvageDeps): Made {
  const made = makeFrom(aside, file, context)
  callWhole(file, at)
  return made
}

type Made = Pick<Salvaged, 'metrics' | 'lost'>

function makeFrom(damaged: string, file: string, context: SalvageDeps): Made {
  const pages = openPages(damaged)
  try {
    requireVersion(pages, damaged)
    const database = openDatabase(freshFile(file), outboxSchema)
    try {
      return fill(database, pages, damaged, context)
    } finally {
      database.close()
    }
  } finally {
    pages.close()
  }
}

/** A file whose version cannot be read is taken for one of this version. */
function requireVersion({ version }: PageFile, damaged: string): void {
  if (version === undefined || version === 0 || version === outboxSchema.version) return
  throw fileFault('the outbox', damaged, new OtherSchemaError(damaged, version, outboxSchema.version))
}

function fill(database: Sqlite, pages: PageFile, damaged: string, context: SalvageDeps): Made {
  const { nowMs, keepMs, collectors } = context
  const current = hourNumber(hourAt(nowMs))
  database.pragma('foreign_keys = OFF')
  database.pragma('synchronous = OFF')
  load(database, pages, damaged)
  const lost = database
    .transaction(() => {
      mend(database, { hour: current, nowMs, collectors: JSON.stringify(collectors) })
      takeOutDoubtful(database)
      const from = hourNumber(hourAt(nowMs - keepMs))
      const hours = listLostHours(database, { from, current, collectors, since: bornHour(damaged, nowMs) })
      recount(database)
      return hours
    })
    .immediate()
  database.pragma('synchronous = FULL')
  database.pragma('wal_checkpoint(TRUNCATE)')
  const metrics = database.prepare<[], number>('SELECT coalesce(sum(metrics), 0) FROM tally WHERE state <> 5').pluck()
  return { metrics: metrics.get() ?? 0, lost }
}

/**
 * What follows a gap in the log is newer; but a page that was split there may be half, and the other half in the gap. What
 * was before the gap fills that.
 */
function load(database: Sqlite, pages: PageFile, damaged: string): void {
  prepareLoad(database)
  loadRows(database, pages, 'newest')
  if (!pages.hasGap) return
  const older = openPages(damaged, 'unbroken')
  try {
    loadRows(database, older, 'older')
  } finally {
    older.close()
  }
}

/** When the file was made, as far as the disk knows; not before what is caught up. */
function bornHour(file: string, nowMs: number): number {
  const born = statSync(file, { throwIfNoEntry: false })?.birthtimeMs ?? 0
  return hourNumber(hourAt(Math.min(nowMs, Math.max(born, nowMs - catchUpHoursMax * hourMs))))
}
