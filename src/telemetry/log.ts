import { writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import type { Redactor } from './redactor.ts'

export type Log = Logger

export type LogThreshold = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Writes JSON lines on stderr. Secrets are removed from the finished line, so that none can slip through. */
export function createLog(level: LogThreshold, redactor: Redactor): Log {
  const sink = { write: (line: string) => writeLine(redactor.redact(line)) }
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: label => ({ level: label }) } },
    sink,
  )
}

/** Writes a line. A log that cannot be written (a closed pipe, a full disk) must not stop the work. */
function writeLine(line: string): void {
  try {
    writeSync(2, line)
  } catch {
    // There is nowhere left to report it.
  }
}
