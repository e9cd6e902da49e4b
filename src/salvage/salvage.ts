import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { Fault } from '../model/fault.ts'
import { hourAt, hourNumber } from '../model/hour.ts'
import { catchUpHoursMax, hourMs } from '../model/limits.ts'
import { stepsFrom } from '../model/migrations.ts'
import { isDamage } from '../sqlite/damage.ts'
import {
  OtherSchemaError,
  openDatabase,
  openReadOnly,
  type Schema,
  type Sqlite,
  schemaVersion,
} from '../sqlite/database.ts'
import { syncPath } from '../sqlite/sync-path.ts'
import { fileFault } from '../sqlite/trouble.ts'
import { loadRows, prepareLoad } from './load.ts'
import { type LostHours, listLostHours, mend, type RowDigest, recount, takeOutDoubtful } from './mend.ts'
import { openLog, openPages, type PageFile, readWal, type Wal } from './pages/pages.ts'

/**
 * Replaces a damaged file by a new one so that a crash at any instant loses neither. The new file is written next to it
 * and renamed to a name that says "whole" and when; the damaged one and its log are moved aside; the new one is moved
 * in. A start that finds a file named "whole" continues from there.
 */

const wholePart = '.salvaged-'
const asidePart = '.corrupt-'
const parts = ['-wal', '-shm', ''] as const

/** Path where a new file is written. It is ignored until it is named whole. */
function freshFile(file: string): string {
  const fresh = `${file}.salvaging`
  for (const part of ['', ...parts]) rmSync(`${fresh}${part}`, { force: true })
  return fresh
}

/** Renames the new file to its "whole" name. @returns path that the damaged one will be moved to */
function callWhole(file: string, nameSuffix: string): string {
  const fresh = `${file}.salvaging`
  syncPath(fresh)
  renameSync(fresh, `${file}${wholePart}${nameSuffix}`)
  syncPath(dirname(file))
  return `${file}${asidePart}${nameSuffix}`
}

/** Moves the damaged file, its log and its index aside. */
function moveAside(file: string, aside: string): void {
  for (const part of parts) {
    if (existsSync(`${file}${part}`)) renameSync(`${file}${part}`, free(`${aside}${part}`))
  }
}

/** Moves the whole file into place. */
function moveIn(file: string, nameSuffix: string): void {
  renameSync(`${file}${wholePart}${nameSuffix}`, file)
  syncPath(dirname(file))
}

/** A file name for an instant that is not taken yet: `20261120T130000Z`. */
function nameFor(file: string, nowMs: number): string {
  const instantText = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '')
  const isTaken = (name: string) =>
    readdirSync(dirname(file)).some(found => found.startsWith(`${basename(file)}${asidePart}${name}`))
  if (!isTaken(instantText)) return instantText
  for (let number = 2; ; number += 1) if (!isTaken(`${instantText}.${number}`)) return `${instantText}.${number}`
}

/** A text that changes when the file or its log is written to. */
function diskStateOf(file: string): string {
  return ['', '-wal']
    .map(part => statSync(`${file}${part}`, { throwIfNoEntry: false }))
    .map(found => `${found?.ino} ${found?.size} ${found?.mtimeMs}`)
    .join(' ')
}

function free(path: string): string {
  if (!existsSync(path)) return path
  for (let number = 2; ; number += 1) if (!existsSync(`${path}.${number}`)) return `${path}.${number}`
}

/** Damage of the log: a few milliseconds, or a few seconds for several GiB. */
function brokenLog(file: string): string | undefined {
  const diskState = diskStateOf(file)
  if (!logOf(file).isDamaged) return undefined
  // While another process writes, parts that were read may be of different ages.
  if (!logOf(file).isDamaged || diskStateOf(file) !== diskState) return undefined
  return 'its log holds commits that SQLite would not see'
}

function logOf(file: string): Wal {
  const log = openLog(file)
  try {
    return readWal(log)
  } finally {
    log.close()
  }
}

function emptied(file: string): string | undefined {
  const { size, mtimeMs, birthtimeMs } = statSync(file)
  if (size > 0) return undefined
  const hasLog = logOf(file).frames.length > 0
  // A new, unwritten file has equal birth and change times; a truncated one has not.
  return hasLog || (birthtimeMs > 0 && mtimeMs - birthtimeMs > 1) ? 'the file was emptied' : undefined
}

const countsAgree = `
  WITH found AS MATERIALIZED (SELECT protocol, state, count(*) AS metrics FROM outbox NOT INDEXED GROUP BY protocol, state),
    due AS MATERIALIZED (SELECT protocol, count(*) AS metrics FROM outbox INDEXED BY outbox_due WHERE state = 0 GROUP BY protocol)
  SELECT NOT EXISTS (SELECT protocol, state, metrics FROM found EXCEPT SELECT protocol, state, metrics FROM tally)
    AND NOT EXISTS (SELECT protocol, state, metrics FROM tally WHERE state <> 5 AND metrics > 0 EXCEPT SELECT * FROM found)
    AND NOT EXISTS (SELECT protocol, metrics FROM due EXCEPT SELECT protocol, metrics FROM found WHERE state = 0)
    AND NOT EXISTS (SELECT protocol, metrics FROM found WHERE state = 0 EXCEPT SELECT protocol, metrics FROM due)`

/** The tables of the file, as far as a salvage depends on them; it reads and repairs them by name. */
interface SalvagedTables {
  readonly schema: Schema
  readonly rowDigest: RowDigest
}

/** The outbox that is salvaged, as it is configured now. */
export interface SalvageContext {
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** Time for which delivered hours are kept, in milliseconds: older ones may have been pruned. */
  readonly keepMs: number
  /** Ids of the configured collectors, for a file in which none can be read. */
  readonly collectors: readonly string[]
}

interface Made {
  /** Number of metrics in the new file. */
  readonly metrics: number
  /** Hours that are due again. */
  readonly lostHours: readonly LostHours[]
}

/**
 * Writes everything readable of a damaged file into a new one, under its working name next to `file`.
 *
 * @throws Fault `outbox-unusable` for a file of another version
 */
function remake(damagedFile: string, file: string, tables: SalvagedTables, context: SalvageContext): Made {
  const pages = openPages(damagedFile)
  try {
    requireVersion(pages, damagedFile, tables.schema)
    const database = openDatabase(freshFile(file), tables.schema)
    try {
      return fill(database, pages, damagedFile, tables, context)
    } finally {
      database.close()
    }
  } finally {
    pages.close()
  }
}

/** Schema version of a file; this version if it cannot be read. */
function requireVersion({ version }: PageFile, damagedFile: string, schema: Schema): void {
  if (version === undefined || version === 0 || version === schema.version) return
  if (stepsFrom(version, schema.migrations ?? []).length > 0) {
    throw new Fault(
      'outbox-unusable',
      `${damagedFile} is damaged, and its tables are of the older version ${version}`,
      {
        fix: 'run the tidegauge that wrote it once more: it saves what can be read; then run this one again',
      },
    )
  }
  throw fileFault('the outbox', damagedFile, new OtherSchemaError(damagedFile, version, schema))
}

function fill(
  database: Sqlite,
  pages: PageFile,
  damagedFile: string,
  { rowDigest }: SalvagedTables,
  context: SalvageContext,
): Made {
  const { nowMs, keepMs, collectors } = context
  const current = hourNumber(hourAt(nowMs))
  database.pragma('foreign_keys = OFF')
  database.pragma('synchronous = OFF')
  load(database, pages, damagedFile)
  const lostHours = database
    .transaction(() => {
      mend(database, { hour: current, nowMs, collectors: JSON.stringify(collectors) })
      takeOutDoubtful(database, rowDigest)
      const from = hourNumber(hourAt(nowMs - keepMs))
      const hours = listLostHours(database, { from, current, collectors, since: bornHour(damagedFile, nowMs) })
      recount(database)
      return hours
    })
    .immediate()
  database.pragma('synchronous = FULL')
  database.pragma('wal_checkpoint(TRUNCATE)')
  const metrics = database.prepare<[], number>('SELECT count(*) FROM outbox').pluck()
  return { metrics: metrics.get() ?? 0, lostHours }
}

/**
 * Loads the newest rows first. Frames after a gap in the log are newer, but a page split there may be half old. Pages
 * from before the gap then fill in what is missing.
 */
function load(database: Sqlite, pages: PageFile, damagedFile: string): void {
  prepareLoad(database)
  loadRows(database, pages, 'newest')
  if (!pages.hasGap) return
  const olderPages = openPages(damagedFile, 'unbroken')
  try {
    loadRows(database, olderPages, 'older')
  } finally {
    olderPages.close()
  }
}

/** Hour of the file's creation, as far as the disk knows; at most the catch-up range ago. */
function bornHour(file: string, nowMs: number): number {
  const born = statSync(file, { throwIfNoEntry: false })?.birthtimeMs ?? 0
  return hourNumber(hourAt(Math.min(nowMs, Math.max(born, nowMs - catchUpHoursMax * hourMs))))
}

/** Result of salvaging a damaged outbox. */
export interface Salvaged extends Made {
  /** The damage found. */
  readonly reason: string
  /** Path of the damaged file. */
  readonly aside: string
}

/** Finds damage in an outbox's file, and salvages a damaged one. Other rooms use only this class. */
export class Salvage {
  readonly #tables: SalvagedTables

  constructor(tables: SalvagedTables) {
    this.#tables = tables
  }

  /**
   * Checks for damage before the outbox is opened. SQLite would treat an emptied file as a new one, read a log only up
   * to its first broken frame, and overwrite the rest.
   *
   * @returns the damage; `undefined` when none is visible
   */
  damageOf(file: string): string | undefined {
    return this.quickDamageOf(file) ?? (existsSync(file) ? this.brokenPages(file) : undefined)
  }

  /** As `damageOf`, without reading the pages: the file's length and its log alone. */
  quickDamageOf(file: string): string | undefined {
    return existsSync(file) ? (emptied(file) ?? brokenLog(file)) : undefined
  }

  /** Reads every page: 170 ms for 1,000,000 metrics. @returns the damage; `undefined` when there is none */
  brokenPages(file: string): string | undefined {
    const database = openReadOnly(file)
    try {
      const found = database.pragma('quick_check(1)', { simple: true })
      if (found !== 'ok') return String(found)
      // A file of another version has other tables; it is refused when it is opened.
      if (schemaVersion(database) !== this.#tables.schema.version) return undefined
      // A due metric that its index does not list is never delivered; a quick check does not compare the two.
      const isAsCounted = database.prepare<[], number>(countsAgree).pluck().get()
      return isAsCounted === 1 ? undefined : 'the metrics are not as many as were counted'
    } catch (error) {
      if (isDamage(error)) return error instanceof Error ? error.message : String(error)
      throw error
    } finally {
      database.close()
    }
  }

  /** Continues a salvage that a crash interrupted. Call it before the file is opened. */
  finishMoves(file: string): void {
    const folder = dirname(file)
    if (!existsSync(folder)) return
    const prefix = `${basename(file)}${wholePart}`
    const whole = readdirSync(folder).filter(name => name.startsWith(prefix) && !/-(wal|shm|journal)$/.test(name))
    for (const name of whole.sort()) {
      const nameSuffix = name.slice(prefix.length)
      moveAside(file, `${file}${asidePart}${nameSuffix}`)
      moveIn(file, nameSuffix)
    }
  }

  /**
   * Writes everything readable of a damaged outbox into a new one, puts that in its place, and keeps the damaged file
   * next to it. No value in the new file differs from before; hours with missing values are due again. The caller must
   * hold the delivery role and have closed the outbox.
   *
   * @throws Fault `outbox-unusable` for a file of another version
   */
  salvage(file: string, reason: string, context: SalvageContext): Salvaged {
    const nameSuffix = nameFor(file, context.nowMs)
    const diskState = diskStateOf(file)
    let remakeResult = remake(file, file, this.#tables, context)
    const aside = callWhole(file, nameSuffix)
    moveAside(file, aside)
    if (diskStateOf(aside) !== diskState) {
      // A command that had the outbox open has written while it was read.
      remakeResult = remake(aside, file, this.#tables, context)
      callWhole(file, nameSuffix)
    }
    moveIn(file, nameSuffix)
    return { reason, aside, ...remakeResult }
  }
}
