import { type Hour, hourNumber } from '../../model/hour.ts'
import { commitRowsMax, hourMs } from '../../model/limits.ts'
import { deleteRows, MetricChanges, type MetricPlace } from './changes.ts'
import { forUpdate, isIn, sql } from './sql.ts'
import { query, type StoreDatabase, type StoreWork, write } from './work.ts'

/** Deletes values that were kept long enough, except due, dead and held ones. Rows of hours stay for ever. */
export class OldValues {
  readonly #database: StoreDatabase
  /** The hour before which everything was pruned at the last pass. */
  #done: Hour | undefined

  constructor(database: StoreDatabase) {
    this.#database = database
  }

  /** Deletes one commit's worth. @returns whether there may be more */
  async pruneSome(firstKeptHour: Hour): Promise<boolean> {
    // Rows that are still due are read each time: once an hour is enough.
    if (firstKeptHour === this.#done) return false
    const hasMore = await this.#database.write(() => prune(hourNumber(firstKeptHour)), {
      durability: 'unsynced',
      isOptional: true,
    })
    if (!hasMore) this.#done = firstKeptHour
    return hasMore
  }
}

interface OldRow extends MetricPlace {
  readonly protocol: number
  readonly state: number
}

function* prune(firstKeptHour: number): StoreWork<boolean> {
  yield* write(sql`DELETE FROM tidegauge.unsuccessful_flush WHERE last_ms < ${firstKeptHour * hourMs}`)
  const condition = sql`hour < ${firstKeptHour} AND state IN (1, 4, 6)`
  const records = yield* query<{ protocol: number }>(
    sql`SELECT protocol FROM tidegauge.outbox WHERE ${condition} ORDER BY hour, metric LIMIT ${commitRowsMax}`,
  )
  if (records.length === 0) return false
  const protocols = yield* query<{ id: number }>(sql`SELECT id FROM tidegauge.protocol
    WHERE id ${isIn('integer', [...new Set(records.map(({ protocol }) => protocol))])} ORDER BY id ${forUpdate}`)
  const oldRows = yield* query<OldRow>(sql`DELETE FROM tidegauge.outbox WHERE (hour, metric) IN (
      SELECT hour, metric FROM tidegauge.outbox WHERE ${condition}
        AND protocol ${isIn(
          'integer',
          protocols.map(({ id }) => id),
        )} ORDER BY hour, metric LIMIT ${commitRowsMax})
    RETURNING hour, metric, protocol, state`)
  for (const table of ['detained', 'correction', 'earlier_value'] as const) yield* deleteRows(table, oldRows)
  // The counts of the hours no longer match: a salvage would take the metrics for lost.
  yield* write(sql`UPDATE tidegauge.collection SET metrics = NULL, digest = NULL
    WHERE hour ${isIn('integer', [...new Set(oldRows.map(({ hour }) => hour))])} AND metrics IS NOT NULL`)
  const changes = new MetricChanges()
  for (const { protocol, state } of oldRows) changes.prune(protocol, state, 1)
  yield* changes.write()
  return oldRows.length === commitRowsMax
}
