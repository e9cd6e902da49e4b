import type { Sqlite } from '../../../sqlite/database.ts'
import { storedValues } from '../../rows/run-form.ts'
import { wholeBytes } from '../../rows/run-values.ts'

/** The rows of `run_values`: the bytes of the values of each run, by its hour and first number. */
export class RunValues {
  readonly #statements

  constructor(database: Sqlite) {
    const byKey = 'WHERE hour = ? AND first = ?'
    this.#statements = {
      get: database.prepare<[number, number], Buffer | null>(`SELECT ${storedValues} FROM outbox ${byKey}`).pluck(),
      insert: database.prepare<[number, number, Buffer]>('INSERT INTO run_values VALUES (?, ?, ?)'),
      change: database.prepare<[Buffer, number, number]>(`UPDATE run_values SET metric_values = ? ${byKey}`),
    }
  }

  /** The values of a run. @throws DamageError when they are not as many as its metrics */
  get(hour: number, first: number): Buffer {
    return wholeBytes(this.#statements.get.get(hour, first))
  }

  /** Inserts the values of a run, before its row. */
  insert(hour: number, first: number, bytes: Buffer): void {
    this.#statements.insert.run(hour, first, bytes)
  }

  /** Replaces the values of a run. */
  change(hour: number, first: number, bytes: Buffer): void {
    this.#statements.change.run(bytes, hour, first)
  }
}
