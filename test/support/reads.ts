import { LogList, packed } from '../../src/chain/log-list.ts'
import type { ChainReader, RawReads } from '../../src/chain/reads.ts'

const at = { number: 1n, hash: `0x${'00'.repeat(32)}`, timestampSeconds: 0 } as const

/** A chain that answers as written, all of it from one block. */
export function chainOf(reads: RawReads): ChainReader {
  return {
    id: 1,
    settleMs: 0,
    block: reads.block,
    recheck: reads.block,
    nextLookUp: Promise.resolve(),
    read: async (hour, requests, signal) => ({ at, value: await reads.read(hour, requests, signal) }),
    logs: async (hour, filter, signal) => ({
      at,
      value: new LogList([packed([...(await reads.logs(hour, filter, signal))])]),
    }),
  }
}
