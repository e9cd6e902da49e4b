import { describe, expect, it } from 'vitest'
import { type Hex, notFinal, type PinnedBlock, settleMsOf } from '../../src/model/block.ts'
import type { EarliestMs } from '../../src/model/clock.ts'
import { anHour } from '../support/metrics.ts'

const pin = (chainId: number): PinnedBlock => {
  return { chainId, block: { number: 1n, hash: `0x${'0'.repeat(64)}` as Hex, timestampSeconds: 1 } }
}
const chains = [
  { id: 1, settleMs: 60_000 },
  { id: 31_337, settleMs: 0 },
]

describe('a block of an hour', () => {
  it.each([
    ['at the hour', 1, 0, false],
    ['just before its chain’s time', 1, 59_999, false],
    ['at its chain’s time', 1, 60_000, true],
    ['of a chain that settles at once', 31_337, 0, true],
    ['of a chain that is not configured, by its id', 10, settleMsOf(10) - 1, false],
    ['of a chain that is not configured, by its id', 10, settleMsOf(10), true],
  ])('%s is final or not', (_, chainId, afterMs, isFinal) => {
    expect(notFinal([pin(chainId)], anHour, chains, (anHour + afterMs) as EarliestMs)).toHaveLength(isFinal ? 0 : 1)
    // No clock is confirmed.
    expect(notFinal([pin(chainId)], anHour, chains, undefined)).toHaveLength(chainId === 31_337 ? 0 : 1)
  })
})
