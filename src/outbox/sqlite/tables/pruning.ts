import { commitRowsMax, hourMs } from '../../../model/limits.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import { stateOf } from '../../rows/states.ts'
import type { MetricRuns } from './metric-runs.ts'
import type { Tally } from './tally.ts'
import type { UnsuccessfulFlushTable } from './unsuccessful-flushes.ts'

/** Dependencies of `Pruning`. */
interface PruningDeps {
  readonly runs: MetricRuns
  readonly tally: Tally
  readonly unsuccessfulFlushes: UnsuccessfulFlushTable
}

/** Deletes values that were kept long enough, except due, dead and held ones. Rows of hours stay for ever. */
export class Pruning {
  readonly #run: (before: number) => boolean
  /** The hour before which everything was pruned at the last look. */
  #done = 0

  constructor(database: Sqlite, { runs, tally, unsuccessfulFlushes }: PruningDeps) {
    // The stored count of the hour no longer matches its metrics: a salvage would take them for lost.
    const uncount = database.prepare<[number]>('UPDATE collection SET metrics = NULL, digest = NULL WHERE hour = ?')
    const some = database.transaction((before: number) => {
      unsuccessfulFlushes.prune(before * hourMs)
      const deleted = runs.deleteOld(before, commitRowsMax)
      for (const hour of new Set(deleted.map(run => run.hour))) uncount.run(hour)
      for (const { protocol, state, metrics } of deleted) {
        tally.prune(protocol, stateOf(state) === 'dropped' ? 'dropped' : 'delivered', metrics)
      }
      return deleted.reduce((sum, { metrics }) => sum + metrics, 0) >= commitRowsMax
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
    // Runs that are still due are scanned each time: once an hour is enough.
    if (before === this.#done) return false
    const hasMore = this.#run(before)
    if (!hasMore) this.#done = before
    return hasMore
  }
}
