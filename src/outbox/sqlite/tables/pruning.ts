import { commitRowsMax } from '../../../model/limits.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import { stateNumber } from './states.ts'
import type { Tally } from './tally.ts'

interface Old {
  readonly hour: number
  readonly metric: number
  readonly protocol: number
  readonly state: number
}

/** Deletes values that were kept long enough, except due, dead and held ones. Rows of hours stay for ever. */
export class Pruning {
  readonly #run: (before: number) => boolean
  /** The hour before which everything was pruned at the last look. */
  #done = 0

  constructor(database: Sqlite, tally: Tally) {
    const old = database.prepare<[number, number], Old>(
      'SELECT hour, metric, protocol, state FROM outbox WHERE hour < ? AND state IN (1, 4) ORDER BY hour, metric LIMIT ?',
    )
    const remove = database.prepare<[number, number]>('DELETE FROM outbox WHERE hour = ? AND metric = ?')
    // The stored count of the hour no longer matches its rows: a salvage would take them for lost.
    const uncount = database.prepare<[number]>('UPDATE collection SET metrics = NULL, digest = NULL WHERE hour = ?')
    const some = database.transaction((before: number) => {
      const rows = old.all(before, commitRowsMax)
      for (const { hour, metric } of rows) remove.run(hour, metric)
      for (const hour of new Set(rows.map(row => row.hour))) uncount.run(hour)
      for (const [protocol, own] of Map.groupBy(rows, row => row.protocol)) {
        for (const state of ['delivered', 'dropped'] as const) {
          tally.prune(protocol, state, own.filter(row => row.state === stateNumber(state)).length)
        }
      }
      return rows.length === commitRowsMax
    })
    this.#run = before => some.immediate(before)
  }

  /**
   * Deletes one commit's worth.
   *
   * @param before in hours since 1970
   * @returns whether there may be more
   */
  some(before: number): boolean {
    // Rows that are still due are scanned each time: once an hour is enough.
    if (before === this.#done) return false
    const hasMore = this.#run(before)
    if (!hasMore) this.#done = before
    return hasMore
  }
}
