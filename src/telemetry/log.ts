import { writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import { printableJson } from '../model/text.ts'
import { FoldedLines } from './folded-lines.ts'
import type { Redactor } from './redactor.ts'
import { terminalLine } from './terminal-line.ts'

export type Log = Logger

export type LogThreshold = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/**
 * Writes lines on stderr: for people where that is a terminal, else JSON. Secrets are removed from the finished line, so that
 * none can slip through. Equal warnings and errors are folded.
 */
export function createLog(level: LogThreshold, redactor: Redactor): Log {
  const shaped = process.stderr.isTTY ? (line: string) => terminalLine(line, isColoured()) : printableJson
  const folded = new FoldedLines(line => writeLine(shaped(line)))
  const sink = { write: (line: string) => folded.take(redactor.redact(line)) }
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: label => ({ level: label }) } },
    sink,
  )
}

/** By the convention of https://no-color.org. */
function isColoured(): boolean {
  return (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb'
}

/** Writes a line. A log that cannot be written (a closed pipe, a full disk) must not stop the work. */
function writeLine(line: string): void {
  try {
    writeSync(2, line)
  } catch {
    // There is nowhere left to report it.
  }
}
