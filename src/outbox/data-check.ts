import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileStats, mayBeThere } from '../edge/file-stats.ts'
import type { Fault } from '../model/fault.ts'
import { accessTrouble, troubleFault, writingTrouble } from '../sqlite/trouble.ts'
import { outboxFile } from './data-folders.ts'
import { Ballast, ballastBytes } from './sqlite/file/disk.ts'
import { pagesOf } from './sqlite/look-through.ts'

/** Room that the next hour takes, in bytes: some thousand metrics, in the log and in the file. */
const hourBytes = 1_048_576

/** Free room of a disk, in bytes. */
interface DiskRoom {
  readonly free: number
  /** The least with which a daemon begins to store values. */
  readonly least: number
  /** Whether the next hour can be stored: a daemon that has its ballast goes on until the disk is full. */
  readonly isEnough: boolean
}

/** The outbox's file. */
export interface OutboxFileCheck {
  /** Its size, with that of its log; 0 when it cannot be seen. */
  readonly bytes: number
  /** Absent when it is sound, or cannot be looked at. */
  readonly damage?: string
  /** Why it cannot be looked at; absent when it can be. */
  readonly hidden?: string
}

/** Room below the data folder, or below the nearest folder above it that exists; `undefined` when the system does not say. */
export function diskRoom(folder: string): DiskRoom | undefined {
  const ballast = new Ballast(existing(folder))
  const { room, isThere, hasRoom } = ballast
  if (!room) return undefined
  // The ballast is given up for verdicts, and not for an hour's values.
  const isEnough = hasRoom || (isThere && room.freeBytes >= hourBytes)
  return { free: room.freeBytes, least: 2 * ballastBytes, isEnough }
}

/** Why nothing can be written into the data folder, or where it would be made; `undefined` when it can be. */
export function writingFault(folder: string): Fault | undefined {
  const trouble = writingTrouble(existing(folder))
  return trouble && troubleFault('the data folder', folder, trouble)
}

/** The data folder and those of its files that other users than their owner may read or write. */
export function openToOthers(folder: string): readonly string[] {
  const isOpen = (path: string) => ((fileStats(path)?.mode ?? 0) & 0o077) !== 0
  // A folder that is closed to other users closes its files, too.
  if (!isOpen(folder) || accessTrouble(folder)) return []
  return [
    folder,
    ...readdirSync(folder)
      .map(name => join(folder, name))
      .filter(isOpen),
  ]
}

/**
 * Reads every page of the outbox's file, about 200 MB a second, whether or not a daemon runs. Changes nothing.
 *
 * @returns `undefined` when there is no file
 */
export async function checkOutboxFile(folder: string): Promise<OutboxFileCheck | undefined> {
  const file = outboxFile(folder)
  const sizes = [file, `${file}-wal`].map(part => fileStats(part)?.size)
  if (sizes[0] === undefined) {
    const trouble = mayBeThere(file) ? accessTrouble(folder) : undefined
    return trouble && { bytes: 0, hidden: troubleFault('the data folder', folder, trouble).message }
  }
  const { damage, failure } = await pagesOf(file)
  const bytes = sizes.reduce<number>((sum, size = 0) => sum + size, 0)
  return { bytes, ...(damage !== undefined && { damage }), ...(failure && { hidden: failure.message }) }
}

/** Whether the outbox of a folder is gone: its daemon has left the ballast there, and no outbox. */
export function isOutboxGone(folder: string): boolean {
  return !mayBeThere(outboxFile(folder)) && new Ballast(folder).isThere
}

function existing(folder: string): string {
  return fileStats(folder) || dirname(folder) === folder ? folder : existing(dirname(folder))
}
