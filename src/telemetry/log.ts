import { writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import type { Redactor } from './redactor.ts'

export type Log = Logger

export type LogThreshold = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** JSON lines on stderr; secrets are taken out of the finished line, so that nothing can slip past. */
export function createLog(level: LogThreshold, redactor: Redactor): Log {
  const sink = { write: (line: string) => writeLine(redactor.redact(line)) }
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: label => ({ level: label }) } },
    sink,
  )
}

/** A log that cannot be written (a closed pipe, a full disk) must not stop the work. */
function writeLine(line: string): void {
  try {
    writeSync(2, line)
  } catch {
    // Nowhere left to say it.
  }
}
