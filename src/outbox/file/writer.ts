import type { Time } from '../../edge/time.ts'
import { commitRowsMax, lockedRestMs, lockedStopMs, lockedToldMs } from '../../model/limits.ts'
import { isBusy } from '../../sqlite/damage.ts'
import { lockMsMax, type Sqlite } from '../../sqlite/database.ts'
import { type Commit, groupCommit } from '../../sqlite/group-commit.ts'
import type { Disk } from './disk.ts'

/** What is remembered of the file's rows, and may be older than they are. */
export interface RowMemory {
  /** Before each write: another process may have written. */
  refresh(): void
  /** After a write that was undone. */
  forget(): void
}

/**
 * Writes to the outbox's file. While another process has its write lock (a backup, a shell, a backfill) a write is tried
 * again by a timer, so that the event loop goes on and nothing is lost. Part of the outbox's file.
 */
export class Writer {
  readonly #database: Sqlite
  readonly #disk: Disk
  readonly #memory: RowMemory
  readonly #time: Pick<Time, 'nowMs' | 'sleep'>
  readonly #together: Commit
  readonly #givenUp = new AbortController()
  /** Rejects once nothing waits any more. */
  readonly #refused: Promise<never>
  #lockedSinceMs: number | undefined
  #waitingRows = 0

  constructor(database: Sqlite, disk: Disk, memory: RowMemory, time: Pick<Time, 'nowMs' | 'sleep'>) {
    this.#database = database
    this.#disk = disk
    this.#memory = memory
    this.#time = time
    const { promise, reject } = Promise.withResolvers<never>()
    this.#refused = promise
    promise.catch(() => {})
    this.#givenUp.signal.addEventListener('abort', () => reject(this.#givenUp.signal.reason), { once: true })
    const whenFree = <T>(commit: () => T) => this.whenFree(commit)
    this.#together = groupCommit(database, () => memory.forget(), commitRowsMax, whenFree)
  }

  /**
   * Runs work that writes, all or nothing, in a commit shared with what else is written in the same turn. It is on disk once
   * the promise resolves.
   *
   * @param rows it writes, about
   * @throws Fault `disk-full`, `outbox-moved`; what the work throws
   */
  async commit<T>(act: () => T, rows: number): Promise<T> {
    const write = () => {
      this.#disk.requireInPlace()
      this.#memory.refresh()
      return act()
    }
    this.#waitingRows += rows
    try {
      return await this.#together(write, rows)
    } catch (error) {
      // What was collected already may use the room that is kept; nothing new is started then.
      if (this.isAgain(error)) return await this.#together(write, rows)
      throw error
    } finally {
      this.#waitingRows -= rows
    }
  }

  /**
   * Runs a write, again and again while another process has the lock; not before it is known that the file is sound.
   *
   * @param onLocked called when it could not be done at once
   * @throws what the write throws; once waiting was given up also that the lock is taken
   */
  async whenFree<T>(write: () => T, onLocked: () => void = () => {}): Promise<T> {
    if (this.#disk.held) {
      onLocked()
      await Promise.race([this.#disk.held, this.#refused])
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

  /** Nothing waits any more: what cannot be written at once is refused. */
  giveUp(): void {
    this.#givenUp.abort(new Error('the outbox is being closed'))
  }

  /** For a stop, which waits for another process's lock a while. What is not written by then was not accepted. */
  giveUpLater(): void {
    void this.#time.sleep(lockedStopMs, this.#givenUp.signal).then(
      () => this.giveUp(),
      () => {},
    )
  }

  /** Whether the same may work now. @throws Fault `disk-full` */
  isAgain(error: unknown): boolean {
    const seen = this.#disk.recover(error)
    if (seen === 'full') throw this.#disk.fault(error)
    return seen === 'room-made'
  }

  /** Rows that wait in memory to be written. */
  get waitingRows(): number {
    return this.#waitingRows
  }

  /** That another process keeps the lock, for people; `undefined` while none has it for long. */
  lockedSentence(nowMs: number): string | undefined {
    const sinceMs = this.#lockedSinceMs
    if (sinceMs === undefined || nowMs - sinceMs < lockedToldMs) return undefined
    const rows = `about ${this.#waitingRows} rows wait in memory until it ends`
    return `another process has had the outbox's write lock for ${Math.floor((nowMs - sinceMs) / 1_000)} s: ${rows}`
  }

  /**
   * From now on no write holds up the event loop while another process has the lock. What goes neither through `commit`
   * nor `whenFree` is refused at once then.
   */
  neverBlock(): void {
    this.#database.pragma('busy_timeout = 0')
  }

  /** @throws SqliteError for a file that was opened for reading alone, as its rights or its file system want it */
  requireWritable(): void {
    this.#database.pragma('busy_timeout = 0')
    try {
      // To begin a transaction on a file that is open for reading alone is no error: SQLite makes it one of reading.
      this.#database.exec('DELETE FROM pin WHERE 0')
    } catch (error) {
      // Whoever has the lock may write.
      if (!isBusy(error)) throw error
    } finally {
      this.#database.pragma(`busy_timeout = ${lockMsMax}`)
    }
  }
}
