import { constants, copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileStats, mayBeThere } from '../edge/file-stats.ts'
import { systemTime } from '../edge/time.ts'
import { type PostgresAddress, postgresPlaceOf } from '../model/postgres-address.ts'
import type { SalvageContext, Salvaged } from '../salvage/salvage.ts'
import { isDamage } from '../sqlite/damage.ts'
import { isMigratable, type Migrated, migrateFile } from '../sqlite/migrate.ts'
import { fileFault, isTrouble, withFileFaults } from '../sqlite/trouble.ts'
import type { Outbox, OutboxPlace } from './contract/outbox.ts'
import { outboxFile } from './data-folders.ts'
import { daemonHolder, deliveryHolder, takeDeliveryRole } from './roles.ts'
import { Disk } from './sqlite/file/disk.ts'
import { lookThrough } from './sqlite/look-through.ts'
import { outboxSalvage, outboxSchema } from './sqlite/outbox-salvage.ts'
import { SqliteOutbox } from './sqlite/sqlite-outbox.ts'

/** Dependencies of `openForDaemon` and `openForCommand`. */
export interface OpenDeps extends SalvageContext {
  readonly place: OutboxPlace
  /** Path of the configuration file, recorded with the delivery role. */
  readonly config: string
}

/** Circumstances in which a daemon opens its outbox. */
export interface DaemonOpening {
  /** Whether it has the delivery role; a command has it otherwise. */
  readonly hasRole: boolean
  /** Damage already found while it was open. Default: it is checked. */
  readonly damage?: string | undefined
}

/** An open outbox, and the result of a salvage or a migration if one was needed. */
export interface Opened {
  readonly outbox: Outbox
  /** Absent when nothing had to be salvaged. */
  readonly salvaged?: Salvaged
  /** Absent when the tables of its file were of this version. */
  readonly migrated?: Migrated | undefined
  /** Folder of the copy that was opened instead, to be deleted afterwards; absent when the file itself is open. */
  readonly copiedTo?: string
}

/** As `Opened`, of a file. */
type OpenedFile = Opened & { readonly outbox: SqliteOutbox }

/**
 * Opens the outbox for a process that runs for long: no write blocks it. With the delivery role, everything readable of
 * a damaged outbox is salvaged into a new one; a large one is checked while it is open, which `health.isBeingChecked` says.
 *
 * @throws Fault `outbox-corrupt` without the role, when it is damaged and another process has to salvage it; `disk-full`,
 * `outbox-unusable`
 */
export async function openForDaemon(deps: OpenDeps, { hasRole, damage }: DaemonOpening): Promise<Opened> {
  const { place } = deps
  if (place.kind === 'postgres') return openDatabase(place.address, 'daemon')
  const result = withFaults(place.folder, file =>
    hasRole ? openChecking(file, deps, damage) : openShared(file, place.folder, deps),
  )
  result.outbox.writer.neverBlock()
  return result
}

/**
 * Opens the outbox for a command, with or without a daemon running. A damaged outbox is salvaged only while no process
 * has the delivery role.
 *
 * @throws Fault `outbox-corrupt` when another process has to salvage it, `disk-full`, `outbox-unusable`
 */
export async function openForCommand(deps: OpenDeps): Promise<Opened> {
  const { place } = deps
  if (place.kind === 'postgres') return openDatabase(place.address)
  return withFaults(place.folder, file => openShared(file, place.folder, deps))
}

/**
 * As `openForCommand`, for a command that only reads: its pages are not checked beforehand, which would take longer than
 * all the rest. Damage that a read meets is an error.
 */
export async function openForReading(deps: OpenDeps): Promise<Opened> {
  const { place } = deps
  if (place.kind === 'postgres') return openDatabase(place.address)
  if (!mayBeThere(place.folder)) return openEmpty()
  return orCopy(place.folder, () => withFaults(place.folder, file => openShared(file, place.folder, deps, 'quick')))
}

/** An outbox elsewhere, so that reading makes no folder where a volume may be mounted again. */
function openEmpty(): Opened {
  const copiedTo = mkdtempSync(join(tmpdir(), 'tidegauge-'))
  return { outbox: new SqliteOutbox(outboxFile(copiedTo)), copiedTo }
}

/**
 * Opens a copy where the file cannot be opened because its file system is read-only: SQLite must make files next to one
 * with a write-ahead log, unless a process left them there, and what it offers instead (`immutable`) passes over the log.
 */
function orCopy(folder: string, open: () => Opened): Opened {
  try {
    return open()
  } catch (error) {
    const file = outboxFile(folder)
    const disk = new Disk(file)
    if (!disk.isReadOnly) throw error
    const copiedTo = mkdtempSync(join(tmpdir(), 'tidegauge-'))
    try {
      const copy = outboxFile(copiedTo)
      copyUnchanged(file, copy)
      return { outbox: new SqliteOutbox(copy, systemTime, disk), copiedTo }
    } catch {
      rmSync(copiedTo, { recursive: true, force: true })
      throw error
    }
  }
}

/** Calls with the file of an outbox, or with a copy of it where its file system is read-only, as `orCopy`. */
export function withReadableFile<T>(folder: string, act: (file: string) => T): T {
  const file = outboxFile(folder)
  if (!new Disk(file).isReadOnly) return act(file)
  const copiedTo = mkdtempSync(join(tmpdir(), 'tidegauge-'))
  try {
    withFileFaults('the outbox', file, () => copyUnchanged(file, outboxFile(copiedTo)))
    return act(outboxFile(copiedTo))
  } finally {
    rmSync(copiedTo, { recursive: true, force: true })
  }
}

/** Number of times a file that changes meanwhile is copied: another machine may write it. */
const copiesMax = 3

/** Copies a database with its log, so that both are of one instant. @throws when they change all the time */
function copyUnchanged(file: string, copy: string): void {
  const parts = ['', '-wal'].filter(part => existsSync(`${file}${part}`))
  const state = () => JSON.stringify(parts.map(part => [fileStats(`${file}${part}`)].map(s => [s?.size, s?.mtimeMs])))
  for (let copies = 0; copies < copiesMax; copies += 1) {
    const before = state()
    for (const part of parts) copyFileSync(`${file}${part}`, `${copy}${part}`, constants.COPYFILE_FICLONE)
    if (state() === before) return
  }
  throw new Error(`${file} changes while it is copied`)
}

/** As `openForCommand`, for a command that only lists: where nothing can be written it reads a copy. */
export async function openForListing(deps: OpenDeps): Promise<Opened> {
  const { place } = deps
  if (place.kind === 'postgres') return openDatabase(place.address)
  return orCopy(place.folder, () => withFaults(place.folder, file => openShared(file, place.folder, deps)))
}

/** Whether there is an outbox to look into. In a database there is one as soon as it is opened. */
export function hasOutbox(place: OutboxPlace): boolean {
  return place.kind === 'postgres' || mayBeThere(outboxFile(place.folder))
}

/** When the parts of an outbox were last written, in milliseconds since 1970; none when there is no outbox. */
export function outboxWritesMs(folder: string): readonly number[] {
  const file = outboxFile(folder)
  return [file, `${file}-wal`].flatMap(part => fileStats(part)?.mtimeMs ?? [])
}

/** Whether an error of the outbox means that its file is damaged. */
export function isOutboxDamage(error: unknown): boolean {
  return isDamage(error)
}

/** Turns an error of the outbox that no caller has explained into a Fault; returns any other error unchanged. */
export async function explainOutboxError(place: OutboxPlace, error: unknown): Promise<unknown> {
  if (place.kind === 'folder')
    return isTrouble(error) ? fileFault('the outbox', outboxFile(place.folder), error) : error
  const { databaseFault } = await import('./postgres/connection/errors.ts')
  return databaseFault(postgresPlaceOf(place.address), error)
}

/** Loads what speaks to a database: a daemon on a file needs none of it. */
async function openDatabase(address: PostgresAddress, migrator?: 'daemon'): Promise<Opened> {
  const { openPostgresOutbox } = await import('./postgres/postgres-outbox.ts')
  return { outbox: await openPostgresOutbox(address, systemTime, migrator) }
}

function withFaults(folder: string, open: (file: string) => OpenedFile): OpenedFile {
  const file = outboxFile(folder)
  return withFileFaults('the outbox', file, () => open(file))
}

function openShared(file: string, folder: string, deps: OpenDeps, check: DamageCheck = 'whole'): OpenedFile {
  if (deliveryHolder(folder) || daemonHolder(folder)) return { outbox: new SqliteOutbox(file) }
  const outbox = openAsItIs(file, check)
  if (outbox) return { outbox }
  // A process that has taken the role meanwhile salvages or migrates the file.
  const role = takeDeliveryRole(folder, deps.config, deps.nowMs)
  try {
    return openSalvaged(file, deps)
  } finally {
    role.release()
  }
}

/** The clock of a database, in milliseconds since 1970, for a daemon that starts. @throws Fault as `openForDaemon` */
export async function databaseNowMs(address: PostgresAddress): Promise<number> {
  const { outbox } = await openDatabase(address, 'daemon')
  try {
    return (await outbox.sharedOutbox?.store.nowMs()) ?? Number.NaN
  } finally {
    await outbox.close()
  }
}

/** Size of the file above which a thread checks it for damage after the daemon has started, instead of before. */
const lookInThreadBytes = 64 * 1_048_576

/**
 * Opens the file in the process that has the delivery role. Tables of an older version are brought up to date. A damaged
 * file is moved aside, and everything readable is salvaged into a new one.
 *
 * @param damage damage already found while it was open; default: the file is checked
 * @throws Fault `disk-full`, `outbox-unusable`, and errors of SQLite and the file system
 */
export function openSalvaged(file: string, deps: SalvageContext, damage?: string): OpenedFile {
  return writable(openSound(file, deps, damage))
}

/**
 * As `openSalvaged`, for a process that runs for long: a large file is checked while it is open. Nothing is written
 * until the check ends; damage resolves `outbox.disk.broken`.
 *
 * @param largeBytes size above which a file is large
 */
export function openChecking(
  file: string,
  deps: SalvageContext,
  damage?: string,
  largeBytes = lookInThreadBytes,
): OpenedFile {
  // Checking the pages of a large one takes too long to wait for.
  const isLarge = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > largeBytes
  if (damage !== undefined || !isLarge) return openSalvaged(file, deps, damage)
  const result = openSound(file, deps, undefined, 'quick')
  const { disk } = result.outbox
  if (!result.salvaged) disk.delayUntil(lookThrough(file, disk))
  return writable(result)
}

/** Opens the file if it is neither damaged nor of an older version. Changes nothing of such a one. */
function openAsItIs(file: string, check: DamageCheck): SqliteOutbox | undefined {
  if (isMigratable(file, outboxSchema) || damageOf(file, check) !== undefined) return undefined
  try {
    return new SqliteOutbox(file)
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

/**
 * Checks that the file can be written: SQLite opens a read-only file without an error, and fails at the first write.
 */
function writable(file: OpenedFile): OpenedFile {
  try {
    file.outbox.writer.requireWritable()
    return file
  } catch (error) {
    file.outbox.close()
    throw error
  }
}

function openSound(
  file: string,
  deps: SalvageContext,
  damageBefore: string | undefined,
  check: DamageCheck = 'whole',
): OpenedFile {
  outboxSalvage.finishMoves(file)
  const damage = damageBefore ?? damageOf(file, check)
  if (damage !== undefined) return saved(file, damage, deps)
  try {
    const migrated = withRoom(file, () => migrateFile(file, outboxSchema))
    return { outbox: new SqliteOutbox(file), migrated }
  } catch (error) {
    // The quick check can miss damage that opening meets in a page.
    if (!isDamage(error)) throw error
    return saved(file, error instanceof Error ? error.message : String(error), deps)
  }
}

function saved(file: string, damage: string, deps: SalvageContext): OpenedFile {
  const salvaged = withRoom(file, () => outboxSalvage.salvage(file, damage, deps))
  return { outbox: new SqliteOutbox(file), salvaged }
}

/**
 * `quick`: the pages are not read, as by a process that writes nothing: damage in one is an error where it is read.
 */
type DamageCheck = 'whole' | 'quick'

function damageOf(file: string, check: DamageCheck): string | undefined {
  return withRoom(file, () => (check === 'whole' ? outboxSalvage.damageOf(file) : outboxSalvage.quickDamageOf(file)))
}

/** Runs `act` again after deleting the ballast when the disk is full. */
function withRoom<T>(file: string, act: () => T): T {
  const disk = new Disk(file)
  try {
    return act()
  } catch (error) {
    const seen = disk.recover(error)
    if (seen === 'room-made') return act()
    throw seen === 'full' ? disk.fault(error) : error
  }
}
