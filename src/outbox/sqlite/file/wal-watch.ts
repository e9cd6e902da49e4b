import { walBytesMax } from '../../../model/limits.ts'
import type { UpkeepDeps } from '../../contract/outbox.ts'
import type { Disk } from './disk.ts'

/** Size of the write-ahead log above which it is truncated. */
const walTrimBytes = 16 * 1_048_576

/** Size of the write-ahead log above which a reader that blocks truncation is reported. */
export const walReportBytes = 64 * 1_048_576

if (walBytesMax >= walTrimBytes) throw new Error('walBytesMax < walTrimBytes: the WAL of a busy daemon is reused')

/** Truncates a large write-ahead log (WAL), and reports once that it stays large, and once that it is small again. */
export class WalWatch {
  readonly #disk: Pick<Disk, 'walBytes'>
  readonly #trim: () => void
  #wasLarge = false

  /** @param trim truncates it, if no process reads or writes now */
  constructor(disk: Pick<Disk, 'walBytes'>, trim: () => void) {
    this.#disk = disk
    this.#trim = trim
  }

  look(report: UpkeepDeps['report']): void {
    if (this.#disk.walBytes > walTrimBytes) this.#trim()
    const bytes = this.#disk.walBytes
    const isLarge = bytes > walReportBytes
    if (isLarge && !this.#wasLarge) report({ kind: 'wal-large', bytes })
    if (this.#wasLarge && bytes <= walTrimBytes) report({ kind: 'wal-trimmed' })
    this.#wasLarge = isLarge || (this.#wasLarge && bytes > walTrimBytes)
  }
}
