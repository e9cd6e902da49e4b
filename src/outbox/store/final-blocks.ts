import { BatchScheduler } from '../../edge/batch-scheduler.ts'
import type { AsOfBlock, FinalBlocks, HourBlock } from '../../model/block.ts'
import { type Hour, hourNumber } from '../../model/hour.ts'
import { commitRowsMax } from '../../model/limits.ts'
import { type BlockRow, blockOf, hashBytes } from './recording.ts'
import { isIn, rows, type Statement, sql, text } from './sql.ts'
import { query, type StoreDatabase, type StoreWork, write } from './work.ts'

/** A block, and the hour that it was asked for, in hours since 1970. */
type BlockOfAsked = BlockRow & { readonly asked: number }

type BlockReads = BatchScheduler<Hour, readonly AsOfBlock[]>

/**
 * The final as-of blocks of one chain; those asked for in one tick are read together. A cache: an error of the store is
 * reported, and a block that is not read or stored is looked up again.
 */
export class FinalBlockCache implements FinalBlocks {
  readonly #database: StoreDatabase
  readonly #chainId: number
  readonly #onError: (error: unknown) => void
  readonly #of: BlockReads
  readonly #around: BlockReads

  /** @param onError called with each error of the store */
  constructor(database: StoreDatabase, chainId: number, onError: (error: unknown) => void) {
    this.#database = database
    this.#chainId = chainId
    this.#onError = onError
    this.#of = this.#readsOf(hours => ofHours(chainId, hours))
    this.#around = this.#readsOf(hours => aroundHours(chainId, hours))
  }

  async of(hour: Hour): Promise<AsOfBlock | undefined> {
    const [block] = await this.#of.schedule(hour)
    return block
  }

  around(hour: Hour): Promise<readonly AsOfBlock[]> {
    return this.#around.schedule(hour)
  }

  async keep(found: readonly HourBlock[]): Promise<void> {
    for (let at = 0; at < found.length; at += commitRowsMax) {
      await this.#write(() => keepBlocks(this.#chainId, found.slice(at, at + commitRowsMax)))
    }
  }

  async forget(hour?: Hour): Promise<void> {
    const ofHour = hour === undefined ? text('') : sql`AND hour = ${hourNumber(hour)}`
    await this.#write(() => write(sql`DELETE FROM tidegauge.final_block WHERE chain = ${this.#chainId} ${ofHour}`))
  }

  #readsOf(statementOf: (hours: readonly number[]) => Statement): BlockReads {
    return new BatchScheduler(async jobs => {
      const hours = [...new Set(jobs.map(({ request }) => hourNumber(request)))]
      const found = Map.groupBy(await this.#rows(statementOf(hours)), ({ asked }) => asked)
      for (const { request, resolve } of jobs) resolve((found.get(hourNumber(request)) ?? []).map(blockOf))
    })
  }

  async #rows(statement: Statement): Promise<BlockOfAsked[]> {
    try {
      return await this.#database.readEach(() => query<BlockOfAsked>(statement))
    } catch (error) {
      this.#onError(error)
      return []
    }
  }

  async #write(work: () => StoreWork<void>): Promise<void> {
    try {
      await this.#database.write(work, { durability: 'unsynced', isOptional: true })
    } catch (error) {
      this.#onError(error)
    }
  }
}

function ofHours(chainId: number, hours: readonly number[]): Statement {
  return sql`SELECT hour AS asked, number, hash, timestamp FROM tidegauge.final_block
    WHERE chain = ${chainId} AND hour ${isIn('integer', hours)}`
}

/** The blocks before and after each hour. */
function aroundHours(chainId: number, hours: readonly number[]): Statement {
  const tuples = hours.map(hour => [hour])
  const selectBlocks = (condition: Statement) => sql`
    SELECT wanted.asked, block.number, block.hash, block.timestamp
    FROM ${rows({ asked: 'integer' }, tuples)} AS wanted CROSS JOIN tidegauge.final_block AS block
    WHERE block.chain = ${chainId} AND block.hour = (${condition})`
  return sql`SELECT * FROM (
      ${selectBlocks(sql`SELECT max(hour) FROM tidegauge.final_block WHERE chain = ${chainId} AND hour < wanted.asked`)}
      UNION ALL
      ${selectBlocks(sql`SELECT min(hour) FROM tidegauge.final_block WHERE chain = ${chainId} AND hour > wanted.asked`)}
    ) AS near ORDER BY number`
}

function* keepBlocks(chainId: number, found: readonly HourBlock[]): StoreWork<void> {
  for (const { hour, block } of found) {
    yield* write(sql`INSERT INTO tidegauge.final_block (chain, hour, number, hash, timestamp)
      VALUES (${chainId}, ${hourNumber(hour)}, ${block.number}, ${hashBytes(block)}, ${block.timestampSeconds})
      ON CONFLICT DO NOTHING`)
  }
}
