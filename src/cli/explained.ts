import { explainOutboxError } from '../outbox/open.ts'
import { dataFolder } from './open-context.ts'

/**
 * Turns an error of the outbox or the file system in the middle of a command into a Fault, which names the file and what
 * to do. Returns other errors unchanged.
 */
export function explained(error: unknown): unknown {
  const folder = dataFolder()
  return folder === undefined ? error : explainOutboxError(folder, error)
}
