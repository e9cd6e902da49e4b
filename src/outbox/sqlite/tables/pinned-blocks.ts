import type { AsOfBlock, PinnedBlock, PinnedLogs } from '../../../model/block.ts'
import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import { jsonOf } from '../../../model/json.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { PinnedHour } from '../../contract/hours.ts'
import { type BlockRow, blockColumns, blockOf } from '../../rows/block-row.ts'

interface RawPin extends BlockRow {
  readonly hour: number
  readonly collector: string
  readonly logs: string | null
}

/** A hash that no block has: the values of one hour were read at two blocks, so the hour has to be read again. */
const noHash = Buffer.alloc(32)

/** Table of the non-final blocks that values were read at. */
export class PinnedBlocks {
  readonly #statements

  constructor(database: Sqlite) {
    const ofHour = 'hour = +? AND collector = (SELECT id FROM collector WHERE name = +?)'
    this.#statements = {
      add: database.prepare<[number, number, bigint, Buffer, number, string | null, string, Buffer]>(
        `INSERT INTO pin (chain, hour, number, hash, timestamp, logs, collector) SELECT ?, ?, ?, ?, ?, ?, id FROM collector WHERE name = ?
         ON CONFLICT DO UPDATE SET logs = coalesce(excluded.logs, logs),
           hash = iif(hash = excluded.hash AND coalesce(excluded.logs = logs, 1), hash, ?)`,
      ),
      due: database.prepare<[number, number, number], RawPin>(
        `SELECT hour, name AS collector, number, hash, timestamp, logs FROM pin JOIN collector ON collector.id = collector
         WHERE chain = +? AND hour <= ? ORDER BY hour, name LIMIT +?`,
      ),
      ofHour: database.prepare<[number, string], BlockRow & { readonly chain: number }>(
        `SELECT chain, number, hash, timestamp FROM pin WHERE chain IN (SELECT DISTINCT chain FROM pin) AND ${ofHour} ORDER BY chain`,
      ),
      confirm: database.prepare<[number, number, string, Buffer | null]>(
        `DELETE FROM pin WHERE chain = ? AND ${ofHour} AND hash = coalesce(?, hash)`,
      ),
      // The key begins with the chain, and there are few.
      clear: database.prepare<[number, string]>(
        `DELETE FROM pin WHERE chain IN (SELECT DISTINCT chain FROM pin) AND ${ofHour}`,
      ),
      count: database.prepare<[], number>('SELECT count(*) FROM pin').pluck(),
    }
  }

  /**
   * Records the blocks that new values of an hour were read at. If other values of the hour were read at another block
   * or from other logs, the hour has to be read again: `noHash` is stored. Within a transaction.
   */
  add(collector: string, hour: Hour, pins: readonly PinnedBlock[]): void {
    for (const { chainId, block, logs } of pins) {
      const text = logs ? JSON.stringify(logs) : null
      this.#statements.add.run(chainId, hourNumber(hour), ...blockColumns(block), text, collector, noHash)
    }
  }

  /** Records that all values of an hour are as of these blocks. Within a transaction. */
  replace(collector: string, hour: Hour, pins: readonly PinnedBlock[]): void {
    this.#statements.clear.run(hourNumber(hour), collector)
    this.add(collector, hour, pins)
  }

  /** Pinned hours of a chain up to an hour, oldest first. */
  due(chainId: number, upTo: Hour, limit: number): PinnedHour[] {
    return this.#statements.due.all(chainId, hourNumber(upTo), limit).map(({ hour, collector, logs, ...block }) => {
      const own = { hour: hourFromNumber(hour), collector, block: blockOf(block) }
      return logs === null ? own : { ...own, logs: jsonOf(logs) as PinnedLogs[] }
    })
  }

  /** Blocks that values of a collector's hour were read at, without its logs; `noHash` ones are left out. */
  ofHour(collector: string, hour: Hour): Pick<PinnedBlock, 'chainId' | 'block'>[] {
    const rows = this.#statements.ofHour.all(hourNumber(hour), collector).filter(({ hash }) => !hash.equals(noHash))
    return rows.map(({ chain, ...block }) => ({ chainId: chain, block: blockOf(block) }))
  }

  /**
   * Deletes a pin whose block became final.
   *
   * @param block if given, a pin of another block stays
   */
  confirm(chainId: number, hour: Hour, collector: string, block?: AsOfBlock): void {
    const hash = block ? blockColumns(block)[1] : null
    this.#statements.confirm.run(chainId, hourNumber(hour), collector, hash)
  }

  /** Deletes the pins of an hour that cannot be read again. */
  forget(collector: string, hour: Hour): void {
    this.#statements.clear.run(hourNumber(hour), collector)
  }

  /** Number of pins. */
  count(): number {
    return this.#statements.count.get() ?? 0
  }
}
