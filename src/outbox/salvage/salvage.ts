import { statSync } from 'node:fs'
import { Fault } from '../../model/fault.ts'
import { hourAt, hourNumber } from '../../model/hour.ts'
import { catchUpHoursMax, hourMs } from '../../model/limits.ts'
import { openDatabase, type Sqlite } from '../../sqlite/database.ts'
import { openPages, type PageFile } from '../../sqlite/pages.ts'
import { migrations } from '../schema/migrations.ts'
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
 * @throws Fault `outbox-unusable` for a file of a newer version
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
    const version = versionOf(pages)
    const fresh = freshFile(file)
    const database = openDatabase(fresh, migrations.slice(0, version))
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
function versionOf({ version }: PageFile): number {
  if (version === undefined || version === 0) return migrations.length
  if (version <= migrations.length) return version
  throw new Fault(
    'outbox-unusable',
    `the outbox has schema version ${version}; this one knows up to ${migrations.length}`,
    {
      fix: 'run the version of tidegauge that wrote it, or a newer one',
    },
  )
}

function fill(database: Sqlite, pages: PageFile, damaged: string, context: SalvageDeps): Made {
  const { nowMs, keepMs, collectors } = context
  const version = versionOf(pages)
  const current = hourNumber(hourAt(nowMs))
  database.pragma('foreign_keys = OFF')
  database.pragma('synchronous = OFF')
  load(database, pages, damaged)
  for (const { sql } of migrations.slice(version)) database.exec(sql)
  // Before hours were counted, the best there is to say is that a collector gives all its metrics.
  if (version < 2) database.exec(guessedCounts)
  database.pragma(`user_version = ${migrations.length}`)
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

const guessedCounts = `
  UPDATE collection SET metrics = (SELECT count(*) FROM metric WHERE metric.collector = collection.collector) WHERE state = 1`

/** When the file was made, as far as the disk knows; not before what is caught up. */
function bornHour(file: string, nowMs: number): number {
  const born = statSync(file, { throwIfNoEntry: false })?.birthtimeMs ?? 0
  return hourNumber(hourAt(Math.min(nowMs, Math.max(born, nowMs - catchUpHoursMax * hourMs))))
}
