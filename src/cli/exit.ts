import { Fault, type FaultCode } from '../model/fault.ts'

/** Exit codes of commands. */
export const exitCodes = { done: 0, incomplete: 1, usage: 2, held: 75, config: 78 } as const

const codeByFault: Partial<Record<FaultCode, number>> = {
  usage: exitCodes.usage,
  'outbox-held': exitCodes.held,
  config: exitCodes.config,
  'secret-missing': exitCodes.config,
  'database-version': exitCodes.config,
}

/** The exit code for an error. */
export function exitCodeOf(error: unknown): number {
  return (error instanceof Fault && codeByFault[error.code]) || exitCodes.incomplete
}

/** Sets the exit code of the command line. */
export type EndWith = (code: number) => void
