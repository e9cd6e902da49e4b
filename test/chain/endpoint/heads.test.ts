import { expect, it } from 'vitest'
import { ObservedBlocks } from '../../../src/chain/endpoint/learnt.ts'

it('takes no head whose instant is not in seconds: no date could be made of it', () => {
  const blocks = new ObservedBlocks({ served() {} } as never)
  const latest = { method: 'eth_getBlockByNumber', params: ['latest', false] } as never
  const answer = (timestamp: string) => ({ kind: 'result', result: { number: '0x7', timestamp } }) as never
  for (const timestamp of ['0x6a2b3c4d5e6f70', `0x${'f'.repeat(64)}`]) {
    blocks.add([latest], [answer(timestamp)])
    expect(blocks.head).toBeUndefined()
  }
  blocks.add([latest], [answer('0x6a2b3c4d')])
  expect(blocks.head).toEqual({ number: 7n, timestampSeconds: 0x6a2b3c4d })
})
