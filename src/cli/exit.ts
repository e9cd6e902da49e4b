import { CommanderError } from 'commander'
import { ConfigError } from '../config/config.ts'
import { formatMistakes } from '../config/mistakes.ts'
import { Fault, type FaultCode } from '../model/fault.ts'
import { note } from './terminal.ts'

/** Exit codes of commands. */
export const exitCodes = { done: 0, incomplete: 1, usage: 2, outboxOwned: 75, config: 78 } as const

const codeByFault: Partial<Record<FaultCode, number>> = {
  usage: exitCodes.usage,
  'outbox-held': exitCodes.outboxOwned,
  config: exitCodes.config,
  'secret-missing': exitCodes.config,
  'database-version': exitCodes.config,
}

/** The exit code for an error. */
export function exitCodeOf(error: unknown): number {
  return (error instanceof Fault && codeByFault[error.code]) || exitCodes.incomplete
}

let exitCode: number = exitCodes.done

/** Sets the exit code of the command that runs. */
export function endWith(code: number): void {
  exitCode = code
}

/** The command that runs ends with 1: something was not collected or not delivered, or is not as it should be. */
export function endIncomplete(): void {
  endWith(exitCodes.incomplete)
}

/** The exit code that was set since the last call; that of success where none was. */
export function takeExitCode(): number {
  const code = exitCode
  exitCode = exitCodes.done
  return code
}

/** Prints an error of a command on stderr. @returns the exit code */
export async function reportError(thrown: unknown): Promise<number> {
  const isReadable = thrown instanceof CommanderError || thrown instanceof ConfigError || thrown instanceof Fault
  const error = isReadable ? thrown : await (await import('./error-to-fault.ts')).errorToFault(thrown)
  // Commander has printed it already; help and version are not errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  if (error instanceof ConfigError) note(formatMistakes(error.mistakes))
  else if (error instanceof Fault) note(faultText(error))
  else note(`tidegauge: ${error instanceof Error ? error.message : String(error)}`)
  return exitCodeOf(error)
}

function faultText({ message, facts, fix }: Fault): string {
  const lines = Object.entries(facts).map(([name, value]) => `  ${name}: ${value}`)
  return [`tidegauge: ${message}`, ...lines, ...(fix === undefined ? [] : [`  → ${fix}`])].join('\n')
}
