import type { Fault } from '../../../model/fault.ts'
import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import { recollectCapMs } from '../../../model/limits.ts'
import type { CollectionState, DueHour, DueHoursWanted } from '../../contract/hours.ts'
import { dueHour, faultColumns, hourStateOf, type RawHour } from '../../rows/hour-rows.ts'
import type { PostgresDatabase } from '../connection/database.ts'
import type { Transaction } from '../connection/transaction.ts'
import { lockCollectors } from './locks.ts'

/** Reads the expected (collector, hour) rows for intake, and turns hours into gaps. */
export class ExpectedHourRows {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  /** As `IntakeStore.dueHours`. Only the index of due hours is read, apart from those that are given. */
  async due({ collectors, current, nowMs, limit }: DueHoursWanted): Promise<DueHour[]> {
    if (collectors.length === 0) return []
    const rows = await this.#database.rows<Omit<RawHour, 'state'>>(
      `SELECT collector.name AS collector, due.hour, due.attempts, due.fault
       FROM unnest($1::text[]) WITH ORDINALITY AS asked (name, place)
         JOIN tidegauge.collector ON collector.name = asked.name
         CROSS JOIN LATERAL (
           SELECT hour, attempts, fault FROM tidegauge.collection
           WHERE state = 0 AND collection.collector = collector.id AND hour <= $2::integer
             AND (next_attempt_ms <= $3::bigint OR next_attempt_ms > $4::bigint)
           ORDER BY hour DESC LIMIT $5::integer) AS due
       ORDER BY asked.place, due.hour DESC`,
      [collectors, hourNumber(current), nowMs, nowMs + recollectCapMs, limit],
    )
    return rows.map(dueHour)
  }

  /** The earliest next attempt after an instant, in milliseconds since 1970; `undefined` when there is none. */
  async nextAttemptMs(afterMs: number): Promise<number | undefined> {
    const [row] = await this.#database.rows<{ at: number | null }>(
      'SELECT min(next_attempt_ms) AS at FROM tidegauge.collection WHERE state = 0 AND next_attempt_ms > $1::bigint',
      [afterMs],
    )
    return row?.at ?? undefined
  }

  /** As `IntakeStore.endRetryWaits`. */
  async endRetryWaits(collectors: readonly string[]): Promise<void> {
    await this.#database.write(async transaction => {
      const numbers = await lockCollectors(transaction, collectors)
      transaction.later(
        `UPDATE tidegauge.collection SET next_attempt_ms = 0
         WHERE state = 0 AND next_attempt_ms > 0 AND collector = ANY ($1::integer[])`,
        [[...numbers.values()]],
      )
    })
  }

  /** As `IntakeStore.hourStates`. */
  async states(collector: string, from: Hour, to: Hour): Promise<Map<Hour, CollectionState>> {
    const rows = await this.#database.rows<{ hour: number; state: number }>(
      `SELECT hour, state FROM tidegauge.collection
       WHERE collector = (SELECT id FROM tidegauge.collector WHERE name = $1) AND hour BETWEEN $2::bigint AND $3::bigint ORDER BY hour`,
      [collector, hourNumber(from), hourNumber(to)],
    )
    return new Map(rows.map(({ hour, state }) => [hourFromNumber(hour), hourStateOf(state)]))
  }

  /** The newest collected hour; `undefined` when there is none. */
  async newestCollected(): Promise<Hour | undefined> {
    const [row] = await this.#database.rows<{ hour: number }>(
      'SELECT hour FROM tidegauge.collection WHERE state = 1 ORDER BY hour DESC LIMIT 1',
    )
    return row && hourFromNumber(row.hour)
  }

  /**
   * Turns a due hour into a gap, or inserts a gap. No effect on a collected hour or a gap.
   *
   * @param inTransaction takes part in the commit
   */
  async markGap(
    collector: string,
    hour: Hour,
    fault: Fault,
    inTransaction?: (transaction: Transaction) => Promise<void>,
  ): Promise<void> {
    await this.#database.write(async transaction => {
      await lockCollectors(transaction, [collector])
      transaction.later(
        `INSERT INTO tidegauge.collection (hour, state, attempts, fault, fault_code, collector)
         SELECT $1::integer, 2, 1, $2, $3, id FROM tidegauge.collector WHERE name = $4
         ON CONFLICT (hour, collector) DO UPDATE SET state = 2, attempts = collection.attempts + 1, fault = excluded.fault,
           fault_code = excluded.fault_code WHERE collection.state = 0`,
        [hourNumber(hour), ...faultColumns(fault), collector],
      )
      await inTransaction?.(transaction)
    })
  }
}
