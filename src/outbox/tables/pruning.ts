import { commitRowsMax } from '../../model/limits.ts'
import type { Sqlite } from '../../sqlite/database.ts'
import { stateOf } from './states.ts'
import type { Tally } from './tally.ts'

interface Old {
  readonly hour: number
  readonly metric: number
  readonly protocol: number
  readonly state: number
}

/**
 * Takes out values that have been kept long enough; nothing that is still due, dead or held. That an hour was collected, or
 * is a gap, is known for ever. Part of the outbox's file.
 */
export class Pruning {
  readonly #run: (before: number) => boolean
  /** Nothing was left before this hour, when it was looked last. */
  #done = 0

  constructor(database: Sqlite, tally: Tally) {
    const old = database.prepare<[number, number], Old>(
      'SELECT hour, metric, protocol, state FROM outbox WHERE hour < ? AND state IN (1, 4) ORDER BY hour, metric LIMIT ?',
    )
    const remove = database.prepare<[number, number]>('DELETE FROM outbox WHERE hour = ? AND metric = ?')
    // What an hour gave is not what it has any more: a salvage would take it for lost.
    const uncount = database.prepare<[number]>('UPDATE collection SET metrics = NULL, digest = NULL WHERE hour = ?')
    const some = database.transaction((before: number) => {
      const rows = old.all(before, commitRowsMax)
      for (const { hour, metric } of rows) remove.run(hour, metric)
      for (const hour of new Set(rows.map(row => row.hour))) uncount.run(hour)
      for (const [key, { length }] of Map.groupBy(rows, ({ protocol, state }) => `${protocol} ${state}`)) {
        const [protocol = 0, state = 0] = key.split(' ').map(Number)
        tally.prune(protocol, stateOf(state), length)
      }
      return rows.length === commitRowsMax
    })
    this.#run = before => some.immediate(before)
  }

  /**
   * One commit's worth.
   *
   * @param before in hours since 1970
   * @returns whether there may be more
   */
  some(before: number): boolean {
    // What is due for that long is read over each time: once an hour is enough.
    if (before === this.#done) return false
    const hasMore = this.#run(before)
    if (!hasMore) this.#done = before
    return hasMore
  }
}
