import { isBusy } from '../../../sqlite/damage.ts'
import { type Sqlite, unsynced } from '../../../sqlite/database.ts'
import type { DestinationState } from '../../contract/destination.ts'
import {
  type DestinationColumns,
  type DestinationRow,
  destinationColumns,
  destinationOf,
  freshDestination,
  hurriedAtMs,
  mayBeLost,
} from '../../rows/destination-row.ts'
import type { Writer } from '../file/writer.ts'
import type { UnsuccessfulFlushTable } from './unsuccessful-flushes.ts'

/** Dependencies of `Destinations`. */
interface DestinationsDeps {
  readonly writer: Writer
  readonly unsuccessfulFlushes: UnsuccessfulFlushTable
}

/** Table of the destinations' states. */
export class Destinations {
  readonly #statements
  readonly #set: (state: DestinationColumns) => void
  readonly #setUnsynced: (state: DestinationColumns) => void
  readonly #writer: Writer
  /** States not written yet because another process has the lock. They replace the stored ones. */
  readonly #waiting = new Map<string, DestinationState>()

  constructor(database: Sqlite, { writer, unsuccessfulFlushes }: DestinationsDeps) {
    this.#writer = writer
    this.#statements = {
      get: database.prepare<[string], DestinationRow>('SELECT * FROM destination WHERE name = ?'),
      hurry: database.prepare<[number]>('UPDATE destination SET probe_at_ms = ?'),
      silence: database.prepare<[string]>(
        'UPDATE destination SET waiting = NULL WHERE waiting IS NOT NULL AND name NOT IN (SELECT value FROM json_each(?))',
      ),
      waiting: database.prepare<[], { waiting: string }>(
        'SELECT waiting FROM destination WHERE waiting IS NOT NULL ORDER BY name',
      ),
      set: database.prepare<DestinationColumns>(
        `INSERT INTO destination (name, not_before_ms, probe_at_ms, failures, waiting, last_push_ms, last_verdict, skew_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET not_before_ms = excluded.not_before_ms, probe_at_ms = excluded.probe_at_ms,
           failures = excluded.failures,
           waiting = excluded.waiting, last_push_ms = excluded.last_push_ms, last_verdict = excluded.last_verdict, skew_ms = excluded.skew_ms`,
      ),
    }
    const set = (state: DestinationColumns) => {
      const [name, , , , waiting, lastPushMs] = state
      const before = this.#statements.get.get(name)?.last_push_ms
      this.#statements.set.run(...state)
      const isFlush = lastPushMs !== null && lastPushMs !== before
      if (isFlush && waiting !== null) unsuccessfulFlushes.add(name, waiting, lastPushMs)
    }
    this.#set = database.transaction(set).immediate
    this.#setUnsynced = unsynced(database, set)
  }

  get(name: string): DestinationState {
    const waiting = this.#waiting.get(name)
    if (waiting) return waiting
    const row = this.#statements.get.get(name)
    return row ? destinationOf(row) : freshDestination
  }

  /** Lets the running daemon probe at its next look instead of waiting for the breakers: a person asked for it. */
  hurry(): void {
    this.#statements.hurry.run(hurriedAtMs)
  }

  /** Deletes the reasons why all other destinations wait: no protocol uses their key any more. */
  silenceOthers(names: readonly string[]): void {
    this.#statements.silence.run(JSON.stringify(names))
  }

  /** Reasons why deliveries wait, one sentence each. */
  waiting(): string[] {
    return this.#statements.waiting.all().map(({ waiting }) => waiting)
  }

  /** Sets a state at once in memory, and on disk as soon as no other process has the lock. */
  set(name: string, state: DestinationState): void {
    try {
      this.#write(name, state)
      this.#waiting.delete(name)
    } catch (error) {
      if (!isBusy(error)) throw error
      const isFirst = !this.#waiting.has(name)
      this.#waiting.set(name, state)
      if (isFirst) void this.#writeLater(name)
    }
  }

  /** Retries the write. A failure for another reason loses the state, as a power cut would. */
  async #writeLater(name: string): Promise<void> {
    const write = () => {
      const state = this.#waiting.get(name)
      if (state) this.#write(name, state)
    }
    await this.#writer.whenFree(write).catch(() => {})
    this.#waiting.delete(name)
  }

  #write(name: string, state: DestinationState): void {
    const columns = destinationColumns(name, state)
    if (mayBeLost(state)) this.#setUnsynced(columns)
    else this.#set(columns)
  }
}
