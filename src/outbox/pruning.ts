import { commitRowsMax } from '../model/limits.ts'
import type { Sqlite } from '../sqlite/database.ts'
import { stateOf } from './states.ts'
import type { Tally } from './tally.ts'

interface Old {
  readonly hour: number
  readonly metric: number
  readonly protocol: number
  readonly state: number
}

/** Takes out history that has been kept long enough; nothing that is still due, dead or held. Part of the outbox's file. */
export class Pruning {
  readonly #run: (before: number) => boolean
  /** Nothing was left before this hour, when it was looked last. */
  #done = 0

  constructor(database: Sqlite, tally: Tally) {
    const old = database.prepare<[number, number], Old>(
      'SELECT hour, metric, protocol, state FROM outbox WHERE hour < ? AND state IN (1, 4) ORDER BY hour, metric LIMIT ?',
    )
    const remove = database.prepare<[number, number]>('DELETE FROM outbox WHERE hour = ? AND metric = ?')
    const removeCollections = database.prepare<[number, number]>(
      `DELETE FROM collection WHERE (hour, collector) IN
         (SELECT hour, collector FROM collection WHERE hour < ? AND state <> 0 LIMIT ?)`,
    )
    const some = database.transaction((before: number) => {
      const rows = old.all(before, commitRowsMax)
      for (const { hour, metric } of rows) remove.run(hour, metric)
      for (const [key, { length }] of Map.groupBy(rows, ({ protocol, state }) => `${protocol} ${state}`)) {
        const [protocol = 0, state = 0] = key.split(' ').map(Number)
        tally.prune(protocol, stateOf(state), length)
      }
      if (rows.length === commitRowsMax) return true
      return removeCollections.run(before, commitRowsMax - rows.length).changes === commitRowsMax - rows.length
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
