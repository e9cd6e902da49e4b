import type { AsOfBlock, FinalBlocks } from '../../../model/block.ts'
import { type Hour, hourNumber } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import { isBusy } from '../../../sqlite/damage.ts'
import { type Sqlite, unsynced } from '../../../sqlite/database.ts'
import type { Disk } from '../file/disk.ts'
import { type BlockRow, blockColumns, blockOf } from './block-row.ts'

interface FinalBlockEntry {
  readonly hour: Hour
  readonly block: AsOfBlock
}

/**
 * Table of the final as-of blocks of all chains. A cache: errors of the file are reported to the disk only, and reads
 * then find nothing.
 */
export class FinalBlockTable {
  readonly #disk: Disk
  readonly #statements
  readonly #keep: (kept: { readonly chainId: number; readonly found: readonly FinalBlockEntry[] }) => void

  constructor(database: Sqlite, disk: Disk) {
    this.#disk = disk
    const select = 'SELECT number, hash, timestamp FROM final_block WHERE chain = ? AND hour'
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
      of: hour => {
        const row = this.#attempt(() => of.get(chainId, hourNumber(hour)))
        return row && blockOf(row)
      },
      around: hour => {
        const rows = () => [before.get(chainId, hourNumber(hour)), after.get(chainId, hourNumber(hour))]
        return (this.#attempt(rows) ?? []).flatMap(row => (row ? [blockOf(row)] : []))
      },
      keep: found => {
        for (let at = 0; at < found.length; at += commitRowsMax) {
          this.#write(() => this.#keep({ chainId, found: found.slice(at, at + commitRowsMax) }))
        }
      },
      forget: hour => this.#write(() => forget.run(chainId, hourNumber(hour))),
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

  /** Result of `act`; `undefined` when the file is full, damaged, moved, or locked for long. */
  #attempt<T>(act: () => T): T | undefined {
    try {
      return act()
    } catch (error) {
      if (this.#disk.recover(error) === 'other' && !isBusy(error)) throw error
      return undefined
    }
  }
}
