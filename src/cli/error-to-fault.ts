import { placeOf } from '../app/open-outbox.ts'
import { Fault } from '../model/fault.ts'
import { explainOutboxError } from '../outbox/open.ts'
import { dataOfCommand } from './open-context.ts'

/**
 * Turns an error of the outbox or the file system in the middle of a command into a Fault, which names the file or the
 * database and what to do. Returns other errors unchanged.
 */
export async function errorToFault(error: unknown): Promise<unknown> {
  const data = dataOfCommand()
  if (!data) return error
  try {
    return await explainOutboxError(placeOf({ data }), error)
  } catch (secondError) {
    // The address of the database cannot be read any more.
    if (secondError instanceof Fault) return error
    throw secondError
  }
}
