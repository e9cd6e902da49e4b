import { statSync } from 'node:fs'
import type { SalvageContext, Salvaged } from '../../salvage/salvage.ts'
import { isDamage } from '../../sqlite/damage.ts'
import { isMigratable, type Migrated, migrateFile } from '../../sqlite/migrate.ts'
import { Disk } from './file/disk.ts'
import { lookThrough } from './look-through.ts'
import { outboxSalvage, outboxSchema } from './outbox-salvage.ts'
import { SqliteOutbox } from './sqlite-outbox.ts'

/** Size of the file above which a thread checks it for damage after the daemon has started, instead of before. */
const lookInThreadBytes = 64 * 1_048_576

/** An open file, and the result of a salvage or a migration if one was needed. */
export interface OpenedFile {
  readonly outbox: SqliteOutbox
  /** Absent when nothing had to be salvaged. */
  readonly salvaged?: Salvaged
  /** Absent when its tables were of this version. */
  readonly migrated?: Migrated | undefined
}

/**
 * Opens the file in the process that has the delivery role. Tables of an older version are brought up to date. A damaged file is moved aside, and everything readable is
 * salvaged into a new one.
 *
 * @param known damage already found while it was open; default: the file is checked
 * @throws Fault `disk-full`, `outbox-unusable`, and errors of SQLite and the file system
 */
export function openSalvaged(file: string, deps: SalvageContext, known?: string): OpenedFile {
  return writable(openSound(file, deps, known))
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
  known?: string,
  largeBytes = lookInThreadBytes,
): OpenedFile {
  if (known !== undefined || !isLarge(file, largeBytes)) return openSalvaged(file, deps, known)
  const opened = openSound(file, deps, undefined, quickDamageOf)
  const { disk } = opened.outbox
  if (!opened.salvaged) disk.holdUntil(lookThrough(file, disk))
  return writable(opened)
}

/**
 * Opens the file if it is neither damaged nor of an older version. Changes nothing of such a one.
 *
 * @param look `quick`: the pages are not read, for a process that writes nothing: damage in one is an error where it is read
 */
export function openAsItIs(file: string, look: 'whole' | 'quick' = 'whole'): SqliteOutbox | undefined {
  const damageOf = look === 'whole' ? wholeDamageOf : quickDamageOf
  if (isMigratable(file, outboxSchema) || withRoom(file, () => damageOf(file)) !== undefined) return undefined
  try {
    return new SqliteOutbox(file)
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

/** Whether checking the pages takes too long to wait for. */
function isLarge(file: string, bytes: number): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > bytes
}

/**
 * Checks that the file can be written: SQLite opens a read-only file without an error, and fails at the first write.
 */
function writable(opened: OpenedFile): OpenedFile {
  try {
    opened.outbox.writer.requireWritable()
    return opened
  } catch (error) {
    opened.outbox.close()
    throw error
  }
}

function openSound(file: string, deps: SalvageContext, known: string | undefined, look = wholeDamageOf): OpenedFile {
  outboxSalvage.finishMoves(file)
  const damage = known ?? withRoom(file, () => look(file))
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

function wholeDamageOf(file: string): string | undefined {
  return outboxSalvage.damageOf(file)
}

function quickDamageOf(file: string): string | undefined {
  return outboxSalvage.quickDamageOf(file)
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
