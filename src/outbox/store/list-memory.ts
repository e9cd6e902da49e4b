import type { Hex } from '../../model/block.ts'
import { type Hour, hourFromNumber, hourNumber } from '../../model/hour.ts'
import { jsonOf } from '../../model/json.ts'
import type { ListKeeper, RememberedList } from '../../model/list-memory.ts'
import { sql } from './sql.ts'
import { first, query, type StoreDatabase, type StoreWork } from './work.ts'

/** Columns of a list's row. */
interface ListRow {
  readonly name: string
  readonly digest: string
  readonly hour: number
  readonly number: number | null
  /** The block's hash, 32 bytes. */
  readonly hash: Buffer | null
  readonly since_ms: number
  readonly reread_ms: number
  readonly reread_hour: number
  readonly doubted_ms: number
  readonly items: string
  readonly blocks: string | null
}

/** Memory of lists. It saves reads: a power cut may undo a write. */
export class StoreLists implements ListKeeper {
  readonly #database: StoreDatabase

  constructor(database: StoreDatabase) {
    this.#database = database
  }

  async all(): Promise<readonly RememberedList[]> {
    const lists = () => query<ListRow>(sql`SELECT * FROM tidegauge.list ORDER BY name`)
    return (await this.#database.readEach(lists)).map(listOf)
  }

  async read(name: string): Promise<RememberedList | undefined> {
    const read = () => first<ListRow>(sql`SELECT * FROM tidegauge.list WHERE name = ${name}`)
    const row = await this.#database.readEach(read)
    return row && listOf(row)
  }

  async sinceMs(name: string): Promise<number | undefined> {
    const since = () => first<Pick<ListRow, 'since_ms'>>(sql`SELECT since_ms FROM tidegauge.list WHERE name = ${name}`)
    return (await this.#database.readEach(since))?.since_ms
  }

  async save(list: RememberedList): Promise<void> {
    await this.#database.write(() => saveList(list), { durability: 'unsynced' })
  }

  forget(name: string): Promise<boolean> {
    return this.#database.write(() => deleteList(name))
  }
}

function* deleteList(name: string): StoreWork<boolean> {
  const deleted = yield* query(sql`DELETE FROM tidegauge.list WHERE name = ${name} RETURNING name`)
  return deleted.length > 0
}

function* saveList({ name, digest, hour, block, items, blocks, ...checks }: RememberedList): StoreWork<void> {
  const number = block?.number ?? null
  const hash = block ? Buffer.from(block.hash.slice(2), 'hex') : null
  const numbers = blocks ? JSON.stringify(blocks) : null
  yield* query(sql`INSERT INTO tidegauge.list
      (name, digest, hour, number, hash, since_ms, reread_ms, reread_hour, doubted_ms, items, blocks)
    VALUES (${name}, ${digest}, ${hourNumber(hour)}, ${number}, ${hash}, ${checks.sinceMs}, ${checks.rereadMs},
      ${hourNumber(checks.rereadTo)}, ${checks.doubtedMs}, ${JSON.stringify(items)}, ${numbers})
    ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, hour = excluded.hour, number = excluded.number,
      hash = excluded.hash, since_ms = excluded.since_ms, reread_ms = excluded.reread_ms,
      reread_hour = excluded.reread_hour, doubted_ms = excluded.doubted_ms, items = excluded.items, blocks = excluded.blocks
    RETURNING name`)
}

function listOf({ name, digest, hour, number, hash, items, blocks, ...row }: ListRow): RememberedList {
  const hex: Hex | undefined = hash === null ? undefined : `0x${hash.toString('hex')}`
  return {
    ...{ name, digest, hour: hourFromNumber(hour), items: jsonOf(items) as Hex[] },
    ...(blocks !== null && { blocks: jsonOf(blocks) as number[] }),
    ...(hex !== undefined && number !== null && { block: { number: BigInt(number), hash: hex } }),
    ...{ sinceMs: row.since_ms, rereadMs: row.reread_ms, doubtedMs: row.doubted_ms },
    rereadTo: hourFromNumber(row.reread_hour) as Hour,
  }
}
