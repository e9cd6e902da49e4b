import { pino } from 'pino'
import type { Log } from '../../../src/telemetry/log.ts'

/** A log that writes its messages down, from `info` on. */
export function linesOf(lines: string[]): Log {
  return pino({ level: 'info' }, { write: (line: string) => void lines.push(String(JSON.parse(line).msg)) })
}
