import type { AsOfBlock, FinalBlocks } from '../../../src/model/block.ts'
import type { Hour } from '../../../src/model/hour.ts'

/** Final blocks in memory, in the place of those in the outbox's file. */
export class MemoryFinalBlocks implements FinalBlocks {
  readonly #blocks = new Map<Hour, AsOfBlock>()

  of(hour: Hour): AsOfBlock | undefined {
    return this.#blocks.get(hour)
  }

  around(hour: Hour): readonly AsOfBlock[] {
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

  keep(found: readonly { readonly hour: Hour; readonly block: AsOfBlock }[]): void {
    for (const { hour, block } of found) if (!this.#blocks.has(hour)) this.#blocks.set(hour, block)
  }

  forget(hour: Hour): void {
    this.#blocks.delete(hour)
  }

  /** All that is kept, by hour. */
  all(): ReadonlyMap<Hour, AsOfBlock> {
    return this.#blocks
  }
}
