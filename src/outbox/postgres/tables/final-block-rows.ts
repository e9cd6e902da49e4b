import { BatchScheduler } from '../../../edge/batch-scheduler.ts'
import type { AsOfBlock, FinalBlocks, HourBlock } from '../../../model/block.ts'
import { type Hour, hourNumber } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import { type BlockRow, blockColumns, blockOf } from '../../rows/block-row.ts'
import type { PostgresDatabase } from '../connection/database.ts'

/** A block, and the hour that it was asked for, in hours since 1970. */
interface BlockOfAsked extends BlockRow {
  readonly asked: number
}

const columns = 'number, hash, timestamp'
const table = 'tidegauge.final_block WHERE chain = $1 AND hour'
const askedHours = 'unnest($2::integer[]) AS wanted (asked)'
const ofHours = `SELECT hour AS asked, ${columns} FROM ${table} = ANY ($2::integer[])`
const aroundHours = `SELECT asked, near.* FROM ${askedHours} CROSS JOIN LATERAL (
    (SELECT ${columns} FROM ${table} < asked ORDER BY hour DESC LIMIT 1)
    UNION ALL (SELECT ${columns} FROM ${table} > asked ORDER BY hour LIMIT 1)) AS near
  ORDER BY number`

type BlockLook = BatchScheduler<Hour, readonly AsOfBlock[]>

/**
 * The final as-of blocks of one chain; those asked for in one turn are read together. A cache: an error of the database is
 * reported, and a block that is not read or stored is looked up again.
 */
export class FinalBlockRows implements FinalBlocks {
  readonly #database: PostgresDatabase
  readonly #chainId: number
  readonly #onError: (error: unknown) => void
  readonly #of: BlockLook = this.#look(ofHours)
  readonly #around: BlockLook = this.#look(aroundHours)

  /** @param onError called with each error of the database */
  constructor(database: PostgresDatabase, chainId: number, onError: (error: unknown) => void) {
    this.#database = database
    this.#chainId = chainId
    this.#onError = onError
  }

  async of(hour: Hour) {
    const [block] = await this.#of.schedule(hour)
    return block
  }

  around(hour: Hour) {
    return this.#around.schedule(hour)
  }

  async keep(found: readonly HourBlock[]): Promise<void> {
    for (let at = 0; at < found.length; at += commitRowsMax) await this.#keepSome(found.slice(at, at + commitRowsMax))
  }

  async forget(hour: Hour): Promise<void> {
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

  #look(text: string): BlockLook {
    return new BatchScheduler(async jobs => {
      const hours = [...new Set(jobs.map(({ request }) => hourNumber(request)))]
      const found = Map.groupBy(await this.#rows(text, hours), ({ asked }) => asked)
      for (const { request, resolve } of jobs) resolve((found.get(hourNumber(request)) ?? []).map(blockOf))
    })
  }

  async #rows(text: string, hours: readonly number[]): Promise<BlockOfAsked[]> {
    try {
      return await this.#database.rows<BlockOfAsked>(text, [this.#chainId, hours])
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
