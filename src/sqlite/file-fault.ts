import { Fault } from '../model/fault.ts'
import { codesOf } from './damage.ts'
import { OtherSchemaError } from './database.ts'
import { type FileTrouble, isTrouble, troubleFix, troubleOf, troubleWords } from './trouble.ts'

/**
 * Turns an error of a database file into a Fault: the file, why it cannot be used, and what to do.
 *
 * @param what the file's role, such as `the outbox`
 * @param error thrown when it was opened, read or written; a Fault is returned unchanged
 */
export function fileFault(what: string, file: string, error: unknown): Fault {
  if (error instanceof Fault) return error
  if (error instanceof OtherSchemaError) {
    const fix = otherSchemaFixes[error.madeBy]
    return new Fault('outbox-unusable', `cannot open ${what}: ${error.message}`, { fix, cause: error })
  }
  return troubleFault(what, file, troubleOf(file, error), error)
}

const otherSchemaFixes: Readonly<Record<OtherSchemaError['madeBy'], string>> = {
  newer: 'run the version of tidegauge that wrote it, or a newer one',
  older: 'deliver what is due with the version of tidegauge that wrote it (flush), then move the file aside',
  other: 'use another data folder, or move the file',
}

/**
 * Runs work on a database file. Errors of the file or its disk are thrown as a Fault, others unchanged.
 *
 * @param what the file's role, such as `the outbox`
 */
export function withFileFaults<T>(what: string, file: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw isTrouble(error) || error instanceof OtherSchemaError ? fileFault(what, file, error) : error
  }
}

/** The Fault of a trouble. */
export function troubleFault(what: string, file: string, trouble: FileTrouble, cause?: unknown): Fault {
  const { kind, path } = trouble
  const where = path === file ? file : `${file}: ${path}`
  const said = kind === 'other' && cause instanceof Error ? ` (${[cause.message, ...codesOf(cause)].join(', ')})` : ''
  const message = `cannot use ${what} ${where}: ${troubleWords[kind]}${said}`
  const code = kind === 'no-room' ? 'disk-full' : 'outbox-unusable'
  return new Fault(code, message, { fix: troubleFix(trouble), ...(cause === undefined ? {} : { cause }) })
}
