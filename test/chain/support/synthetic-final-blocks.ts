import type { AsOfBlock, FinalBlocks, HourBlock } from '../../../src/model/block.ts'
import type { Hour } from '../../../src/model/hour.ts'

/** Final blocks in memory, in the place of those in the outbox's file. */
export class MemoryFinalBlocks implements FinalBlocks {
  readonly #blocks = new Map<Hour, AsOfBlock>()

  async of(hour: Hour): Promise<AsOfBlock | undefined> {
    return this.#blocks.get(hour)
  }

  async around(hour: Hour): Promise<readonly AsOfBlock[]> {
    let [before, after]: [Hour | undefined, Hour | undefined] = [undefined, undefined]
    for (const known of this.#blocks.keys()) {
      if (known < hour && (before === undefined || known > before)) before = known
      if (known > hour && (after === undefined || known < after)) after = known
    }
    return [before, after].flatMap(known => {
      const block = known === undefined ? undefined : this.#blocks.get(known)
      return block ? [block] : []
    })
  }

  async keep(found: readonly HourBlock[]): Promise<void> {
    for (const { hour, block } of found) if (!this.#blocks.has(hour)) this.#blocks.set(hour, block)
  }

  async forget(hour?: Hour): Promise<void> {
    if (hour === undefined) this.#blocks.clear()
    else this.#blocks.delete(hour)
  }

  /** All that is kept, by hour. */
  all(): ReadonlyMap<Hour, AsOfBlock> {
    return this.#blocks
  }
}
