import { type Hour, hourNumber } from '../../../model/hour.ts'
import { hourMs } from '../../../model/limits.ts'
import { stateOf } from '../../rows/states.ts'
import type { PostgresDatabase } from '../connection/database.ts'
import type { Transaction } from '../connection/transaction.ts'
import { TallyChanges } from '../tables/tally-changes.ts'

/** Runs deleted in one commit. */
const prunedRunsMax = 100

interface PrunedRun {
  readonly hour: number
  readonly first: number
  readonly metrics: number
  readonly protocol: number
  readonly state: number
}

/** Deletes values that were kept long enough, except due, dead and held ones. Rows of hours stay for ever. */
export class OldValues {
  readonly #database: PostgresDatabase
  /** The hour before which everything was pruned at the last look. */
  #done = 0

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  /** Deletes one commit's worth. @returns whether there may be more */
  async pruneSome(before: Hour): Promise<boolean> {
    const number = hourNumber(before)
    // Runs that are still due are read each time: once an hour is enough.
    if (number === this.#done) return false
    const hasMore = await this.#database.write(transaction => prune(transaction, number), 'unsynced')
    if (!hasMore) this.#done = number
    return hasMore
  }
}

async function prune(transaction: Transaction, before: number): Promise<boolean> {
  transaction.later('DELETE FROM tidegauge.unsuccessful_flush WHERE last_ms < $1::bigint', [before * hourMs])
  const locked = await transaction.query<{ id: number }>(
    `SELECT id FROM tidegauge.protocol WHERE id IN (
       SELECT protocol FROM tidegauge.outbox WHERE hour < $1::integer AND state IN (1, 4) ORDER BY hour, first LIMIT ${prunedRunsMax})
     ORDER BY id FOR NO KEY UPDATE`,
    [before],
  )
  if (locked.length === 0) return false
  const runs = await transaction.query<PrunedRun>(
    `WITH old AS MATERIALIZED (
       SELECT hour, first FROM tidegauge.outbox WHERE hour < $1::integer AND state IN (1, 4) AND protocol = ANY ($2::integer[])
       ORDER BY hour, first LIMIT ${prunedRunsMax})
     DELETE FROM tidegauge.outbox USING old WHERE outbox.hour = old.hour AND outbox.first = old.first
     RETURNING outbox.hour, outbox.first, metrics, protocol, state`,
    [before, locked.map(({ id }) => id)],
  )
  forget(transaction, runs)
  const tally = new TallyChanges()
  for (const { protocol, state, metrics } of runs) {
    tally.prune(protocol, stateOf(state) === 'dropped' ? 'dropped' : 'delivered', metrics)
  }
  tally.write(transaction)
  return runs.length === prunedRunsMax
}

/** Deletes what else there is about the metrics of deleted runs, and the counts of their hours, which no longer match. */
function forget(transaction: Transaction, runs: readonly PrunedRun[]): void {
  const ranges = [runs.map(({ hour }) => hour), runs.map(({ first }) => first), runs.map(({ metrics }) => metrics)]
  for (const table of ['detained', 'correction', 'earlier_value']) {
    transaction.later(
      `DELETE FROM tidegauge.${table} AS row USING unnest($1::integer[], $2::integer[], $3::integer[]) AS run (hour, first, metrics)
       WHERE row.hour = run.hour AND row.metric >= run.first AND row.metric < run.first + run.metrics`,
      ranges,
    )
  }
  transaction.later(
    'UPDATE tidegauge.collection SET metrics = NULL, digest = NULL WHERE hour = ANY ($1::integer[]) AND metrics IS NOT NULL',
    [[...new Set(runs.map(({ hour }) => hour))]],
  )
}
