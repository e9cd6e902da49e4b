import type { AsOfBlock, PinnedBlock, PinnedLogs } from '../../../model/block.ts'
import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import { jsonOf } from '../../../model/json.ts'
import type { PinnedHour } from '../../contract/hours.ts'
import { type BlockRow, blockColumns, blockOf } from '../../rows/block-row.ts'
import type { PostgresDatabase } from '../connection/database.ts'
import type { Transaction } from '../connection/transaction.ts'

interface RawPinRow extends BlockRow {
  readonly hour: number
  readonly collector: string
  readonly logs: string | null
}

/** A hash that no block has: the values of one hour were read at two blocks, so the hour has to be read again. */
const noHash = Buffer.alloc(32)

const ofHour = 'hour = $1::integer AND collector = (SELECT id FROM tidegauge.collector WHERE name = $2)'

/** Non-final blocks that the values of an hour were read at. */
export interface PinnedOutcome {
  readonly hour: Hour
  /** Number of the collector. */
  readonly collector: number
  readonly pins: readonly PinnedBlock[]
  /** Whether all values of the hour are now as of these blocks, whatever was pinned before. */
  readonly isWhole: boolean
}

/**
 * Stores pins. Where other values of an hour were read at another block or from other logs, the hour has to be read again:
 * `noHash` is stored. The transaction holds the locks of the collectors; each hour of one is in one outcome at most.
 */
export function writePins(transaction: Transaction, outcomes: readonly PinnedOutcome[]): void {
  const whole = outcomes.filter(({ isWhole }) => isWhole)
  if (whole.length > 0) {
    transaction.later(
      `DELETE FROM tidegauge.pin USING unnest($1::integer[], $2::integer[]) AS whole (hour, collector)
       WHERE pin.hour = whole.hour AND pin.collector = whole.collector`,
      [whole.map(({ hour }) => hourNumber(hour)), whole.map(({ collector }) => collector)],
    )
  }
  for (const { hour, collector, pins } of outcomes)
    for (const { chainId, block, logs } of pins) {
      const text = logs ? JSON.stringify(logs) : null
      transaction.later(
        `INSERT INTO tidegauge.pin (chain, hour, collector, number, hash, timestamp, logs) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (chain, hour, collector) DO UPDATE SET logs = coalesce(excluded.logs, pin.logs),
           hash = CASE WHEN pin.hash = excluded.hash AND coalesce(excluded.logs = pin.logs, true) THEN pin.hash ELSE $8 END`,
        [chainId, hourNumber(hour), collector, ...blockColumns(block), text, noHash],
      )
    }
}

/** Reads pins, and deletes those that are settled. */
export class PinRows {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  /** Pinned hours of a chain up to an hour, oldest first. */
  async due(chainId: number, upTo: Hour, limit: number): Promise<PinnedHour[]> {
    const rows = await this.#database.rows<RawPinRow>(
      `SELECT hour, name AS collector, number, hash, timestamp, logs
       FROM tidegauge.pin JOIN tidegauge.collector ON collector.id = collector
       WHERE chain = $1 AND hour <= $2::integer ORDER BY hour, name LIMIT $3`,
      [chainId, hourNumber(upTo), limit],
    )
    return rows.map(({ hour, collector, logs, ...block }) => {
      const own = { hour: hourFromNumber(hour), collector, block: blockOf(block) }
      return logs === null ? own : { ...own, logs: jsonOf(logs) as PinnedLogs[] }
    })
  }

  /** Deletes a pin whose block became final; a pin of another block stays. */
  async confirm(chainId: number, hour: Hour, collector: string, block: AsOfBlock): Promise<void> {
    const hash = blockColumns(block)[1]
    await this.#database.write(async transaction =>
      transaction.later(`DELETE FROM tidegauge.pin WHERE ${ofHour} AND chain = $3 AND hash = $4`, [
        ...[hourNumber(hour), collector, chainId],
        hash,
      ]),
    )
  }

  /** Deletes the pins of an hour that cannot be read again. */
  async forget(collector: string, hour: Hour): Promise<void> {
    await this.#database.write(async transaction =>
      transaction.later(`DELETE FROM tidegauge.pin WHERE ${ofHour}`, [hourNumber(hour), collector]),
    )
  }
}
