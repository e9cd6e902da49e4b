import { Fault } from '../model/fault.ts'
import { outboxFile } from '../outbox/data-folders.ts'
import { fileFault } from '../sqlite/file-fault.ts'
import { isTrouble } from '../sqlite/trouble.ts'
import { dataFolder } from './configured-command.ts'

/**
 * Turns an error of SQLite or the file system in the middle of a command into a Fault, which names the file and what to
 * do. Returns other errors unchanged.
 */
export function explained(error: unknown): unknown {
  const folder = dataFolder()
  if (folder === undefined || error instanceof Fault || !isTrouble(error)) return error
  return fileFault('the outbox', outboxFile(folder), error)
}
