import type { Sqlite } from '../../../sqlite/database.ts'
import type { UnresolvedCount } from '../../contract/status-store.ts'
import { type RawUnresolved, unresolvedCount } from '../../rows/hour-rows.ts'

/** Counts gaps, dead and held metrics by collector. */
export class Unresolved {
  readonly #all

  constructor(database: Sqlite) {
    // The index of gaps alone counts them; a fault is read of the newest. A bare column is of the row with the maximum.
    this.#all = database.prepare<[], RawUnresolved>(
      `SELECT 'gap' AS kind, name AS collector, gaps.count, gaps.hour, fault AS reason
       FROM (SELECT collector, count(*) AS count, max(hour) AS hour FROM collection WHERE state = 2 GROUP BY collector) AS gaps
       JOIN collector ON collector.id = gaps.collector
       JOIN collection ON collection.collector = gaps.collector AND collection.hour = gaps.hour
       UNION ALL SELECT kind, name, count, hour, reason FROM (
         SELECT iif(kind = 'refused', 'dead', 'held') AS kind, metric.collector, count(*) AS count, max(hour) AS hour, reason
         FROM detained CROSS JOIN metric ON metric.id = metric GROUP BY 1, metric.collector) AS listed
       JOIN collector ON collector.id = listed.collector
       ORDER BY 1, 2`,
    )
  }

  all(): UnresolvedCount[] {
    return this.#all.all().map(unresolvedCount)
  }
}
