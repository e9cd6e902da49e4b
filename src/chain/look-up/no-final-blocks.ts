import type { FinalBlocks } from '../../model/block.ts'

/** Keeps nothing: where there is no outbox yet, and where an answer must not rest on what was found before. */
export class NoFinalBlocks implements FinalBlocks {
  of(): undefined {
    return undefined
  }

  around(): readonly [] {
    return []
  }

  keep(): void {}

  forget(): void {}
}
