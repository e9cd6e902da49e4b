import type { FinalBlocks, HourBlock } from '../../../model/block.ts'
import { hourNumber } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import { type BlockRow, blockColumns, blockOf } from '../../rows/block-row.ts'
import type { PostgresDatabase } from '../connection/database.ts'

const select = 'SELECT number, hash, timestamp FROM tidegauge.final_block WHERE chain = $1 AND hour'

/**
 * The final as-of blocks of one chain. A cache: an error of the database is reported, and a block that is not read or stored
 * is looked up again.
 */
export class FinalBlockRows implements FinalBlocks {
  readonly #database: PostgresDatabase
  readonly #chainId: number
  readonly #onError: (error: unknown) => void

  /** @param onError called with each error of the database */
  constructor(database: PostgresDatabase, chainId: number, onError: (error: unknown) => void) {
    this.#database = database
    this.#chainId = chainId
    this.#onError = onError
  }

  async of(hour: Parameters<FinalBlocks['of']>[0]) {
    const [row] = await this.#rows(`${select} = $2::integer`, hour)
    return row && blockOf(row)
  }

  async around(hour: Parameters<FinalBlocks['around']>[0]) {
    const before = `(${select} < $2::integer ORDER BY hour DESC LIMIT 1)`
    const after = `(${select} > $2::integer ORDER BY hour LIMIT 1)`
    const rows = await this.#rows(`${before} UNION ALL ${after} ORDER BY number`, hour)
    return rows.map(blockOf)
  }

  async keep(found: readonly HourBlock[]): Promise<void> {
    for (let at = 0; at < found.length; at += commitRowsMax) await this.#keepSome(found.slice(at, at + commitRowsMax))
  }

  async forget(hour: Parameters<FinalBlocks['forget']>[0]): Promise<void> {
    await this.#write('DELETE FROM tidegauge.final_block WHERE chain = $1 AND hour = $2::integer', [
      this.#chainId,
      hourNumber(hour),
    ])
  }

  async #keepSome(found: readonly HourBlock[]): Promise<void> {
    const rows = found.map(({ hour, block }) => [hourNumber(hour), ...blockColumns(block)] as const)
    await this.#write(
      `INSERT INTO tidegauge.final_block (chain, hour, number, hash, timestamp)
       SELECT $1, * FROM unnest($2::integer[], $3::bigint[], $4::bytea[], $5::bigint[]) AS found (hour, number, hash, timestamp)
       ORDER BY hour ON CONFLICT DO NOTHING`,
      [this.#chainId, ...[0, 1, 2, 3].map(place => rows.map(row => row[place]))],
    )
  }

  async #rows(text: string, hour: Parameters<FinalBlocks['of']>[0]): Promise<BlockRow[]> {
    try {
      return await this.#database.rows<BlockRow>(text, [this.#chainId, hourNumber(hour)])
    } catch (error) {
      this.#onError(error)
      return []
    }
  }

  async #write(text: string, values: readonly unknown[]): Promise<void> {
    try {
      await this.#database.write(async transaction => transaction.later(text, values), 'unsynced')
    } catch (error) {
      this.#onError(error)
    }
  }
}
