import { CommanderError } from 'commander'
import { ConfigError } from '../config/config.ts'
import { formatMistakes } from '../config/mistakes.ts'
import { Fault } from '../model/fault.ts'
import { exitCodeOf, exitCodes } from './exit.ts'
import { note } from './terminal.ts'

/** Prints an error of a command on stderr. @returns the exit code */
export async function reportError(thrown: unknown): Promise<number> {
  const isReadable = thrown instanceof CommanderError || thrown instanceof ConfigError || thrown instanceof Fault
  const error = isReadable ? thrown : await (await import('./explained.ts')).explained(thrown)
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
