import { describe, expect, it } from 'vitest'
import type { RememberedList } from '../../../src/model/list-memory.ts'
import { anHour } from '../../support/metrics.ts'
import { emptyAt, type NewPlace } from './place.ts'

const pools: RememberedList = {
  ...{ name: 'pools', digest: 'of all else', hour: anHour, sinceMs: 1_700_000_000_000, rereadMs: 1_700_000_000_001 },
  ...{ rereadTo: anHour, doubtedMs: 0, items: [`0x${'ab'.repeat(20)}`, `0x${'cd'.repeat(20)}`], blocks: [7, 19] },
  block: { number: 20n, hash: `0x${'1f'.repeat(32)}` },
}

/** Promises of the `ListKeeper`. */
export function listsContract(newPlace: NewPlace): void {
  describe('what is remembered of lists', () => {
    it('is there once it is saved, by name, and after a restart, until it is forgotten', async () => {
      const { outbox, handles } = await emptyAt(newPlace)
      const { block: _block, blocks: _blocks, ...others } = pools
      const vaults = { ...others, name: 'vaults' }
      expect(await outbox.lists.read('pools')).toBeUndefined()
      await outbox.lists.save(vaults)
      await outbox.lists.save({ ...pools, items: [], blocks: [] })
      await outbox.lists.save(pools)
      const again = await handles.reopened()
      expect(await again.lists.all()).toEqual([pools, vaults])
      expect(await again.lists.read('vaults')).toEqual(vaults)
      expect([await again.lists.sinceMs('pools'), await again.lists.sinceMs('no')]).toEqual([pools.sinceMs, undefined])
      expect([await again.lists.forget('pools'), await again.lists.forget('pools')]).toEqual([true, false])
      expect(await again.lists.all()).toEqual([vaults])
    })
  })
}
