import { statSync } from 'node:fs'
import type { SalvageDeps, Salvaged } from '../salvage/salvage.ts'
import { isDamage } from '../sqlite/damage.ts'
import { withFileFaults } from '../sqlite/file-fault.ts'
import { outboxFile } from './data-folders.ts'
import { daemonHolder, deliveryHolder, takeDeliveryRole } from './roles.ts'
import { Disk } from './sqlite/file/disk.ts'
import { lookBesideBytes } from './sqlite/limits.ts'
import { lookThrough } from './sqlite/look-through.ts'
import { outboxSalvage } from './sqlite/outbox-salvage.ts'
import { SqliteOutbox } from './sqlite/sqlite-outbox.ts'

/** Dependencies of `openWithRole` and its variants. */
export interface OpenDeps extends SalvageDeps {
  /** Data folder of the outbox. */
  readonly folder: string
  /** Path of the configuration file, recorded with the delivery role. */
  readonly config: string
}

/** An open outbox, and the result of a salvage if one was needed. */
export interface Opened {
  readonly outbox: SqliteOutbox
  /** Absent when nothing had to be salvaged. */
  readonly salvaged?: Salvaged
}

/**
 * Opens the outbox in the process that has the delivery role. A damaged file is moved aside, and everything readable is
 * salvaged into a new one.
 *
 * @param known damage already found while it was open; default: the file is checked
 * @throws Fault `disk-full`, `outbox-unusable`
 */
export function openWithRole(context: OpenDeps, known?: string): Opened {
  const file = outboxFile(context.folder)
  return withFileFaults('the outbox', file, () => writable(openSound(file, context, known)))
}

/**
 * As `openWithRole`, for the daemon: a large file is checked while the daemon starts. Nothing is written until the
 * check ends; damage resolves `outbox.disk.broken`.
 *
 * @param largeBytes size above which a file is large; default `lookBesideBytes`
 */
export function openForDaemon(context: OpenDeps, known?: string, largeBytes?: number): Opened {
  const file = outboxFile(context.folder)
  return withFileFaults('the outbox', file, () => {
    if (known !== undefined || !isLarge(file, largeBytes)) return openWithRole(context, known)
    const opened = openSound(file, context, undefined, one => outboxSalvage.quickDamageOf(one))
    const { disk } = opened.outbox
    if (!opened.salvaged) disk.holdUntil(lookThrough(file, disk))
    return writable(opened)
  })
}

/** Whether checking the pages takes too long to wait for. */
function isLarge(file: string, bytes = lookBesideBytes): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > bytes
}

/**
 * Checks that the file can be written: SQLite opens a read-only file without an error, and fails at the first write.
 */
function writable(opened: Opened): Opened {
  try {
    opened.outbox.writer.requireWritable()
    return opened
  } catch (error) {
    opened.outbox.close()
    throw error
  }
}

function openSound(file: string, context: OpenDeps, known: string | undefined, look = wholeDamageOf): Opened {
  outboxSalvage.finishMoves(file)
  const damage = known ?? withRoom(file, () => look(file))
  if (damage !== undefined) return saved(file, damage, context)
  try {
    return { outbox: new SqliteOutbox(file) }
  } catch (error) {
    // The quick check can miss damage that opening meets in a page.
    if (!isDamage(error)) throw error
    return saved(file, error instanceof Error ? error.message : String(error), context)
  }
}

function saved(file: string, damage: string, context: OpenDeps): Opened {
  const salvaged = withRoom(file, () => outboxSalvage.salvage(file, damage, context))
  return { outbox: new SqliteOutbox(file), salvaged }
}

function wholeDamageOf(file: string): string | undefined {
  return outboxSalvage.damageOf(file)
}

function lookedAt(file: string): string | undefined {
  return withRoom(file, () => wholeDamageOf(file))
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

/**
 * Opens the outbox without the delivery role, with or without a daemon running. A damaged file is salvaged only while
 * no process has that role.
 *
 * @throws Fault `outbox-corrupt` when another process has to salvage it, `disk-full`, `outbox-unusable`
 */
export function openWithoutRole(context: OpenDeps): Opened {
  const file = outboxFile(context.folder)
  return withFileFaults('the outbox', file, () => openBeside(file, context))
}

function openBeside(file: string, context: OpenDeps): Opened {
  if (deliveryHolder(context.folder) || daemonHolder(context.folder)) return { outbox: new SqliteOutbox(file) }
  if (lookedAt(file) === undefined) {
    try {
      return { outbox: new SqliteOutbox(file) }
    } catch (error) {
      if (!isDamage(error)) throw error
    }
  }
  // A process that has taken the role meanwhile salvages the file.
  const role = takeDeliveryRole(context.folder, context.config, context.nowMs)
  try {
    return openWithRole(context)
  } finally {
    role.release()
  }
}
