import { logBytesMax } from '../../../model/limits.ts'
import type { UpkeepDeps } from '../../contract/outbox.ts'
import type { Disk } from './disk.ts'

/** Size of the write-ahead log above which it is truncated. */
const logTrimBytes = 16 * 1_048_576

/** Size of the write-ahead log above which a reader that blocks truncation is reported. */
export const logReportBytes = 64 * 1_048_576

if (logBytesMax >= logTrimBytes) throw new Error('logBytesMax < logTrimBytes: the log of a busy daemon is reused')

/** Truncates a large write-ahead log, and reports once that it stays large, and once that it is small again. */
export class LogWatch {
  readonly #disk: Pick<Disk, 'logBytes'>
  readonly #trim: () => void
  #wasLarge = false

  /** @param trim truncates the log, if no process reads or writes now */
  constructor(disk: Pick<Disk, 'logBytes'>, trim: () => void) {
    this.#disk = disk
    this.#trim = trim
  }

  look(report: UpkeepDeps['report']): void {
    if (this.#disk.logBytes > logTrimBytes) this.#trim()
    const bytes = this.#disk.logBytes
    const isLarge = bytes > logReportBytes
    if (isLarge && !this.#wasLarge) report({ kind: 'log-large', bytes })
    if (this.#wasLarge && bytes <= logTrimBytes) report({ kind: 'log-trimmed' })
    this.#wasLarge = isLarge || (this.#wasLarge && bytes > logTrimBytes)
  }
}
