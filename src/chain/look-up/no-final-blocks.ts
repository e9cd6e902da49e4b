import type { FinalBlocks } from '../../model/block.ts'

/** Null cache: for runs without an outbox, and for checks that must not trust earlier results. */
export class NoFinalBlocks implements FinalBlocks {
  async of(): Promise<undefined> {
    return undefined
  }

  async around(): Promise<readonly []> {
    return []
  }

  async keep(): Promise<void> {}

  async forget(): Promise<void> {}
}
