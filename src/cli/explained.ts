import { Fault } from '../model/fault.ts'
import { outboxFile } from '../outbox/file/data-folders.ts'
import { fileFault } from '../sqlite/file-fault.ts'
import { isTrouble } from '../sqlite/trouble.ts'
import { dataFolder } from './configured-command.ts'

/**
 * What SQLite or the file system say of the outbox in the middle of a command, as a Fault: they name neither the file nor
 * what to do. Everything else stays as it is.
 */
export function explained(error: unknown): unknown {
  const folder = dataFolder()
  if (folder === undefined || error instanceof Fault || !isTrouble(error)) return error
  return fileFault('the outbox', outboxFile(folder), error)
}
