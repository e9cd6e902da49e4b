import { closeSync, existsSync, linkSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { mayBeThere } from '../edge/file-stats.ts'
import { Fault } from '../model/fault.ts'
import { isDamage } from '../sqlite/damage.ts'
import { openReadOnly } from '../sqlite/database.ts'
import { syncPath } from '../sqlite/sync-path.ts'
import { fileFault, isTrouble, withFileFaults } from '../sqlite/trouble.ts'
import { outboxFile } from './data-folders.ts'
import { withReadableFile } from './open.ts'
import { outboxSalvage } from './sqlite/outbox-salvage.ts'

interface OutboxBackup {
  /** Absolute path. */
  readonly file: string
  readonly bytes: number
}

/**
 * Copies the outbox of a data folder into a new file (mode 0600), as of one instant, whether or not other processes write
 * to it meanwhile; they do not wait for it. The copy is checked and on disk when it appears under its name.
 *
 * @throws Fault `usage` when there is no outbox, or the file exists or cannot be written; `outbox-corrupt`, `disk-full`,
 * `outbox-unusable`
 */
export function backUpOutbox(folder: string, target: string): OutboxBackup {
  const [source, file] = [outboxFile(folder), resolve(target)]
  if (!mayBeThere(source)) throw new Fault('usage', `there is no outbox in ${folder} yet`, { fix: 'collect first' })
  if (existsSync(file)) throw taken(file)
  const temporaryFile = `${file}.${process.pid}`
  try {
    makeFile(temporaryFile, file)
    withReadableFile(folder, readable => copy(readable, temporaryFile, file))
    const damage = outboxSalvage.damageOf(temporaryFile)
    if (damage !== undefined) throw damaged(damage)
    syncPath(temporaryFile)
    publish(temporaryFile, file)
    return { file, bytes: statSync(file).size }
  } finally {
    // SQLite leaves a journal when it is interrupted.
    for (const part of ['', '-journal', '-wal', '-shm']) rmSync(`${temporaryFile}${part}`, { force: true })
  }
}

/** SQLite would create it readable for others. */
function makeFile(temporaryFile: string, file: string): void {
  try {
    closeSync(openSync(temporaryFile, 'wx', 0o600))
  } catch (cause) {
    const { message, fix } = fileFault('the copy', file, cause)
    throw new Fault('usage', message, { fix: fix ?? 'name a file in a folder that this user may write', cause })
  }
}

function copy(source: string, temporaryFile: string, file: string): void {
  const database = withFileFaults('the outbox', source, () => openReadOnly(source))
  try {
    // One read transaction, which keeps no writer waiting. SQLite's backup starts again at each write of another process.
    database.prepare('VACUUM INTO ?').run(temporaryFile)
  } catch (error) {
    if (isDamage(error)) throw damaged(error instanceof Error ? error.message : String(error))
    throw isTrouble(error) ? fileFault('the copy', file, error) : error
  } finally {
    database.close()
  }
}

/** A damaged outbox must not pass for a backup. */
function damaged(damage: string): Fault {
  return new Fault('outbox-corrupt', `the outbox is damaged, so no backup was made: ${damage}`, {
    fix: 'restart the daemon: it saves what can be read into a new outbox',
  })
}

/** A link fails if the file was created meanwhile; a rename would replace it. */
function publish(temporaryFile: string, file: string): void {
  try {
    linkSync(temporaryFile, file)
  } catch (cause) {
    if (existsSync(file)) throw taken(file)
    throw fileFault('the copy', file, cause)
  }
  syncPath(dirname(file))
}

function taken(file: string): Fault {
  return new Fault('usage', `${file} already exists`, { fix: 'name another file: a backup replaces nothing' })
}
