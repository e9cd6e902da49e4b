import type { Time } from '../../../edge/time.ts'
import { unlessAborted } from '../../../edge/unless-aborted.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import { isBusy } from '../../../sqlite/damage.ts'
import { lockMsMax, type Sqlite, unsynced } from '../../../sqlite/database.ts'
import { type Commit, groupCommit } from '../../../sqlite/group-commit.ts'
import type { Disk } from './disk.ts'

/** Wait before a write is retried while another process has the outbox's lock. */
const lockedRestMs = 50

/** Time for which another process may have the lock before it is reported and readiness turns red. */
export const lockedReportMs = 10_000

/** Time for which a stop waits for the lock; rows not written by then are collected again. */
const lockedStopMs = 5_000

/**
 * Writes to the outbox's file. While another process has the write lock (a backup, a shell, a backfill) a timer retries
 * the write, so that the event loop goes on and nothing is lost.
 */
export class Writer {
  readonly #database: Sqlite
  readonly #disk: Disk
  readonly #time: Pick<Time, 'nowMs' | 'sleep'>
  readonly #together: Commit
  readonly #unsynced: ReturnType<typeof unsynced>
  readonly #delayed = new Set<() => void>()
  readonly #givenUp = new AbortController()
  #lockedSinceMs: number | undefined
  #waitingRows = 0

  constructor(database: Sqlite, disk: Disk, time: Pick<Time, 'nowMs' | 'sleep'>) {
    this.#database = database
    this.#disk = disk
    this.#time = time
    const whenFree = <T>(commit: () => T) => this.whenFree(commit, () => this.#noteDelay())
    this.#together = groupCommit(database, commitRowsMax, whenFree)
    this.#unsynced = unsynced(database)
  }

  /**
   * Runs writes in one transaction, in a commit shared with other writes of the same tick. Resolves when it is on disk.
   *
   * @param rows written, about
   * @param onDelayed called when the write has to wait for another process
   * @throws Fault `disk-full`, `outbox-moved`; whatever the work throws
   */
  async commit<T>(act: () => T, rows: number, onDelayed?: () => void): Promise<T> {
    const write = () => {
      this.#disk.requireInPlace()
      return act()
    }
    if (onDelayed) this.#delayed.add(onDelayed)
    try {
      return await this.#together(write, rows)
    } catch (error) {
      // Values already collected may use the ballast's room; no new hour is started then.
      if (this.isAgain(error)) return await this.#together(write, rows)
      throw error
    } finally {
      if (onDelayed) this.#delayed.delete(onDelayed)
    }
  }

  /** Runs writes in one transaction, whose commit does not wait for the disk: see `unsynced`. Parameters as of `commit`. */
  unsynced<T>(act: () => T, onDelayed?: () => void): Promise<T> {
    return this.whenFree(() => {
      try {
        return this.#unsynced(act)
      } catch (error) {
        // A full disk must not keep a delivery from being recorded.
        if (!this.isAgain(error)) throw error
        return this.#unsynced(act)
      }
    }, onDelayed)
  }

  /** Runs writes in one transaction, as `unsynced`, or fails when another process writes or the file is being checked. */
  async atOnce<T>(act: () => T): Promise<T> {
    if (this.#disk.check) throw Object.assign(new Error('the outbox is being checked'), { code: 'SQLITE_BUSY' })
    this.#disk.requireInPlace()
    return this.#unsynced(act)
  }

  #noteDelay(): void {
    for (const onDelayed of this.#delayed) onDelayed()
  }

  /** Does something in which rows wait in memory to be written, and counts them meanwhile. */
  async whileWaiting<T>(rows: number, act: () => Promise<T>): Promise<T> {
    this.#waitingRows += rows
    try {
      return await act()
    } finally {
      this.#waitingRows -= rows
    }
  }

  /**
   * Runs a write, retrying while another process has the lock. Waits for the check of the file to end.
   *
   * @param onLocked called when the write has to wait
   * @throws what the write throws; after `giveUp`, the error of the taken lock
   */
  async whenFree<T>(write: () => T, onLocked: () => void = () => {}): Promise<T> {
    if (this.#disk.check) {
      onLocked()
      await unlessAborted(this.#disk.check, this.#givenUp.signal)
    }
    for (;;) {
      const done = this.#attempt(write)
      if (done) return done.result
      onLocked()
      await this.#time.sleep(lockedRestMs, this.#givenUp.signal).catch(() => {})
    }
  }

  #attempt<T>(write: () => T): { readonly result: T } | undefined {
    try {
      const result = write()
      this.#lockedSinceMs = undefined
      return { result }
    } catch (error) {
      if (!isBusy(error)) throw error
      this.#lockedSinceMs ??= this.#time.nowMs()
      if (this.#givenUp.signal.aborted) throw error
      return undefined
    }
  }

  /** Stops waiting: a write that cannot be done at once is refused. */
  giveUp(): void {
    this.#givenUp.abort(new Error('the outbox is being closed'))
  }

  /** Stops waiting after `lockedStopMs`, for a stop. A write refused then was not accepted. */
  giveUpLater(): void {
    void this.#time.sleep(lockedStopMs, this.#givenUp.signal).then(
      () => this.giveUp(),
      () => {},
    )
  }

  /** Whether a retry may succeed now. @throws Fault `disk-full` */
  isAgain(error: unknown): boolean {
    const seen = this.#disk.recover(error)
    if (seen === 'full') throw this.#disk.fault(error)
    return seen === 'room-made'
  }

  /** Rows in memory that wait to be written. */
  get waitingRows(): number {
    return this.#waitingRows
  }

  /** Sentence about another process that has the lock for long, for a person; `undefined` when there is none. */
  lockedSentence(nowMs: number): string | undefined {
    const sinceMs = this.#lockedSinceMs
    if (sinceMs === undefined || nowMs - sinceMs < lockedReportMs) return undefined
    const rows = `about ${this.#waitingRows} rows wait in memory until it ends`
    return `another process has had the outbox's write lock for ${Math.floor((nowMs - sinceMs) / 1_000)} s: ${rows}`
  }

  /**
   * From now on no write blocks the event loop while another process has the lock. Writes outside `commit` and
   * `whenFree` are then refused at once.
   */
  neverBlock(): void {
    this.#database.pragma('busy_timeout = 0')
  }

  /** @throws SqliteError when file rights or the file system make the file read-only */
  requireWritable(): void {
    this.#database.pragma('busy_timeout = 0')
    try {
      // Beginning a transaction on a read-only file is not an error: SQLite makes it a reading one.
      this.#database.exec('DELETE FROM pin WHERE 0')
    } catch (error) {
      // The process that has the lock can write.
      if (!isBusy(error)) throw error
    } finally {
      this.#database.pragma(`busy_timeout = ${lockMsMax}`)
    }
  }
}
