import type { FinalBlocks } from '../../model/block.ts'

/** Null cache: for runs without an outbox, and for checks that must not trust earlier results. */
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
