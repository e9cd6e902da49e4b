import type { FinalBlocks, HourBlock } from '../../../model/block.ts'
import { hourNumber } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import { type Sqlite, unsynced } from '../../../sqlite/database.ts'
import { type BlockRow, blockColumns, blockOf } from '../../rows/block-row.ts'
import type { Disk } from '../file/disk.ts'

/**
 * Table of the final as-of blocks of all chains. A cache: errors of the file are reported to the disk only, and reads
 * then find nothing.
 */
export class FinalBlockTable {
  readonly #disk: Disk
  readonly #statements
  readonly #keep: (kept: { readonly chainId: number; readonly found: readonly HourBlock[] }) => void

  constructor(database: Sqlite, disk: Disk) {
    this.#disk = disk
    const select = 'SELECT number, hash, timestamp FROM final_block WHERE chain = +? AND hour'
    this.#statements = {
      of: database.prepare<[number, number], BlockRow>(`${select} = ?`),
      before: database.prepare<[number, number], BlockRow>(`${select} < ? ORDER BY hour DESC LIMIT 1`),
      after: database.prepare<[number, number], BlockRow>(`${select} > ? ORDER BY hour LIMIT 1`),
      add: database.prepare<[number, number, bigint, Buffer, number]>(
        'INSERT INTO final_block (chain, hour, number, hash, timestamp) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      ),
      forget: database.prepare<[number, number]>('DELETE FROM final_block WHERE chain = ? AND hour = ?'),
    }
    this.#keep = unsynced(database, ({ chainId, found }) => {
      for (const { hour, block } of found) this.#statements.add.run(chainId, hourNumber(hour), ...blockColumns(block))
    })
  }

  /** The cache of one chain. It never throws for an error of the file. */
  of(chainId: number): FinalBlocks {
    const { of, before, after, forget } = this.#statements
    return {
      of: async hour => {
        const row = this.#attempt(() => of.get(chainId, hourNumber(hour)))
        return row && blockOf(row)
      },
      around: async hour => {
        const rows = () => [before.get(chainId, hourNumber(hour)), after.get(chainId, hourNumber(hour))]
        return (this.#attempt(rows) ?? []).flatMap(row => (row ? [blockOf(row)] : []))
      },
      keep: async found => {
        for (let at = 0; at < found.length; at += commitRowsMax) {
          this.#write(() => this.#keep({ chainId, found: found.slice(at, at + commitRowsMax) }))
        }
      },
      forget: async hour => this.#write(() => forget.run(chainId, hourNumber(hour))),
    }
  }

  /** Writes if possible: a block that is not stored is looked up again. */
  #write(act: () => void): void {
    if (this.#disk.held) return
    this.#attempt(() => {
      this.#disk.requireInPlace()
      act()
    })
  }

  /** Result of `act`; `undefined` when it fails: the error is reported to the disk, and the block is looked up again. */
  #attempt<T>(act: () => T): T | undefined {
    try {
      return act()
    } catch (error) {
      this.#disk.recover(error)
      return undefined
    }
  }
}
