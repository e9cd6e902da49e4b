import { Fault } from '../../../model/fault.ts'
import type { Breakage, OutboxHealth, Recovery } from '../../contract/outbox.ts'
import { clientError, databaseFault, databaseTrouble, fullFault } from './errors.ts'

/**
 * Whether the database takes new rows, as its latest answers to writes say. A connection that is lost is no breakage: the
 * next write makes another.
 */
export class PostgresHealth implements OutboxHealth {
  readonly broken = new Promise<Breakage>(() => {})
  readonly room = undefined
  readonly isBeingChecked = false
  readonly #place: string
  readonly #tryWrite: () => Promise<void>
  #full: Fault | undefined
  #waitingRows = 0

  /**
   * @param place of the database, in words
   * @param tryWrite writes something small, which a full database refuses
   */
  constructor(place: string, tryWrite: () => Promise<void>) {
    this.#place = place
    this.#tryWrite = tryWrite
  }

  get fullSentence(): string | undefined {
    return this.#full?.message
  }

  get isReadOnly(): boolean {
    return this.#full?.code === 'database-read-only'
  }

  get waitingRows(): number {
    return this.#waitingRows
  }

  lockedSentence(): undefined {
    return undefined
  }

  requireRoom(): void {
    if (this.#full) throw this.#full
  }

  /** Notes that the database can only be read, before anything is written. */
  noteReadOnly(): void {
    this.#full = fullFault(this.#place, 'read-only')
  }

  /** A database has no reserve of its own; this finds out whether a full one takes rows again. */
  async keepReserve(): Promise<void> {
    if (!this.#full) return
    try {
      await this.writing(0, this.#tryWrite)
    } catch (error) {
      if (databaseTrouble(error) === undefined && !(error instanceof Fault)) throw error
    }
  }

  /**
   * Runs a write, counts its rows as waiting meanwhile, and takes note of a database that is full.
   *
   * @throws Fault `disk-full`, `database-read-only` when it is; whatever else `write` throws
   */
  async writing<T>(rows: number, write: () => Promise<T>): Promise<T> {
    this.#waitingRows += rows
    try {
      const result = await write()
      this.#full = undefined
      return result
    } catch (error) {
      throw this.recover(error) === 'full' ? this.explain(error) : error
    } finally {
      this.#waitingRows -= rows
    }
  }

  recover(error: unknown): Recovery {
    if (error instanceof Fault) return ['disk-full', 'database-read-only'].includes(error.code) ? 'full' : 'other'
    const trouble = databaseTrouble(error)
    if (trouble !== 'full' && trouble !== 'read-only') return 'other'
    this.#full = fullFault(this.#place, trouble)
    return 'full'
  }

  explain(error: unknown): unknown {
    return databaseFault(this.#place, clientError(error))
  }
}
