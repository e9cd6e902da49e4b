import { join } from 'node:path'
import { fileStats } from '../edge/file-stats.ts'
import { Fault } from '../model/fault.ts'
import { identityOf } from './sqlite/file/disk.ts'

/** Path of the outbox in a data folder. */
export function outboxFile(folder: string): string {
  return join(folder, 'outbox.db')
}

/** The folder found at a path when its outbox was opened. */
interface KnownFolder {
  readonly folder: string | undefined
  /** Inode number of its outbox. */
  readonly outboxNumber: number | undefined
}

/**
 * Remembers, for the life of a process, which data folders were open. If another folder appears at the same path, such
 * as an empty one after a volume was unmounted, a new outbox there would look like a first start and hide all due
 * metrics.
 */
export class DataFolders {
  readonly #known = new Map<string, KnownFolder>()

  /** Records the folder at a path; its outbox is open. */
  opened(folder: string): void {
    this.#known.set(folder, { folder: identityOf(folder), outboxNumber: fileStats(outboxFile(folder))?.ino })
  }

  /**
   * Checks a folder before anything is created in it. It is accepted if it is the one that was open, with or without an
   * outbox, or if it contains the outbox that was open: a remounted volume is another device.
   *
   * @throws Fault `outbox-unusable` for another folder, until the process restarts
   */
  require(folder: string): void {
    const folderBefore = this.#known.get(folder)
    const identity = identityOf(folder)
    if (!folderBefore || (identity !== undefined && identity === folderBefore.folder)) return
    const number = fileStats(outboxFile(folder))?.ino
    if (number !== undefined && number === folderBefore.outboxNumber) return
    const what = identity === undefined ? 'is gone' : 'is not the one that was open'
    throw new Fault('outbox-unusable', `the data folder ${folder} ${what}: was its volume unmounted?`, {
      fix: 'mount it again, or move the folder back, and tidegauge continues; to start with the present folder, restart it',
    })
  }
}
