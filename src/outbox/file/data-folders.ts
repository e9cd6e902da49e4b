import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../model/fault.ts'
import { identityOf } from './identity.ts'

/** The outbox of a data folder. */
export function outboxFile(folder: string): string {
  return join(folder, 'outbox.db')
}

/** What lay at a data folder's path when its outbox was opened. */
interface KnownFolder {
  readonly folder: string | undefined
  readonly outboxNumber: number | undefined
}

/**
 * Knows for the life of a process which data folders it had open. Where another one lies in the place of one, as an empty
 * one does when a volume was unmounted, a new outbox would look like a first start, and what is due would be out of sight.
 */
export class DataFolders {
  readonly #known = new Map<string, KnownFolder>()

  /** Remembers what lies in a folder's place; its outbox is open. */
  opened(folder: string): void {
    this.#known.set(folder, { folder: identityOf(folder), outboxNumber: numberOf(outboxFile(folder)) })
  }

  /**
   * To be called before anything is made in a folder. It may be opened when it is the one that was open, with or without
   * an outbox in it (somebody has removed it then), or when the outbox that was open is in it: a volume that is mounted
   * again is another device.
   *
   * @throws Fault `outbox-unusable` for another folder, until the process is started again
   */
  require(folder: string): void {
    const known = this.#known.get(folder)
    const found = identityOf(folder)
    if (!known || (found !== undefined && found === known.folder)) return
    const number = numberOf(outboxFile(folder))
    if (number !== undefined && number === known.outboxNumber) return
    const what = found === undefined ? 'is gone' : 'is not the one that was open'
    throw new Fault('outbox-unusable', `the data folder ${folder} ${what}: was its volume unmounted?`, {
      fix: 'mount it again, or move the folder back, and tidegauge goes on by itself; to begin with what lies there now, restart it',
    })
  }
}

/** A file's number on its device. */
function numberOf(path: string): number | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.ino
  } catch {
    return undefined
  }
}
