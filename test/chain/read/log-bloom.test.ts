import { describe, expect, it } from 'vitest'
import { mayHaveLogs } from '../../../src/chain/read/log-evidence.ts'
import { Anvil } from '../../../src/devchain/anvil.ts'

const [weth, other] = [`0x${'c0'.repeat(20)}`, `0x${'c1'.repeat(20)}`] as const
const filter = { address: other, topics: [] }

describe('the Bloom filter of a header', () => {
  it.each([
    ['is missing', undefined],
    ['is none', '0x12'],
    ['is full, as on chains that write no other', `0x${'fF'.repeat(256)}`],
  ])('that %s says nothing', (_, bloom) => {
    expect(mayHaveLogs(bloom, filter)).toBeUndefined()
  })

  it('rules out what is certainly not there, and nothing else', () => {
    expect(mayHaveLogs(`0x${'00'.repeat(256)}`, filter)).toBe(false)
    expect(
      mayHaveLogs(`0x${'ff'.repeat(255)}fe`, { address: [weth, other], topics: [null, [`0x${'77'.repeat(32)}`]] }),
    ).toBe(true)
  })

  it('is read as a node writes it', async () => {
    const anvil = await Anvil.start(1_700_000_000)
    try {
      // Emits a log with one topic, 0x77…: PUSH32 topic, PUSH1 0, PUSH1 0, LOG1.
      await anvil.rpc('anvil_setCode', weth, `0x7f${'77'.repeat(32)}60006000a1`)
      const [from] = await anvil.rpc<string[]>('eth_accounts')
      await anvil.rpc('eth_sendTransaction', { from, to: weth, gas: '0x186a0' })
      await anvil.rpc('evm_mine')
      const blocks = await Promise.all(
        ['0x1', '0x2'].map(number => anvil.rpc<{ logsBloom: string }>('eth_getBlockByNumber', number, false)),
      )
      const blooms = blocks.map(({ logsBloom }) => logsBloom)
      const topics = [`0x${'77'.repeat(32)}`] as const
      expect(blooms.map(bloom => mayHaveLogs(bloom, { address: weth, topics }))).toEqual([true, false])
      expect(blooms.map(bloom => mayHaveLogs(bloom, { address: other, topics }))).toEqual([false, false])
      expect(mayHaveLogs(blooms[0], { address: weth, topics: [`0x${'78'.repeat(32)}`] })).toBe(false)
      expect(mayHaveLogs(blooms[0], { address: [other, weth], topics: [[`0x${'78'.repeat(32)}`, topics[0]]] })).toBe(
        true,
      )
    } finally {
      await anvil.stop()
    }
  })
})
