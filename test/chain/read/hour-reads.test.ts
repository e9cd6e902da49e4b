import { describe, expect, it } from 'vitest'
import { HourReads } from '../../../src/chain/read/hour-reads.ts'
import type { ReadRequest } from '../../../src/chain/reads.ts'
import type { AsOfBlock, Hex } from '../../../src/model/block.ts'
import { patient } from '../support/readers.ts'

const request = (input: Hex): ReadRequest => ({ kind: 'call', to: `0x${'c0'.repeat(20)}`, input })
const returned = (output: Hex) => ({ kind: 'returned', output }) as const
const block = (branch: string): AsOfBlock => ({ number: 7n, hash: `0x${branch.repeat(64)}`, timestampSeconds: 100 })

/** Reads of an hour whose block becomes known on demand; reads answer with the first digit of the block's hash. */
function stage() {
  const known = Promise.withResolvers<AsOfBlock>()
  const read: { readonly hash: Hex; readonly count: number }[] = []
  const at = ({ hash }: Pick<AsOfBlock, 'hash'>, requests: readonly ReadRequest[]) => {
    read.push({ hash, count: requests.length })
    return requests.map(() => returned(`0x0${hash.slice(2, 3)}` as Hex))
  }
  const reads = new HourReads({
    asOf: () => known.promise,
    read: async (asOf, requests) => ({ outcomes: at(asOf, requests) }),
    closed() {},
  })
  const tried = (branch: string) => reads.tryAt(block(branch), async (target, requests) => at(target, requests))
  return { reads, known, read, tried }
}

describe('what was read at a block before it is proven', () => {
  it('counts when it turns out to be the as-of block, and is not read again', async () => {
    const { reads, known, read, tried } = stage()
    reads.add([request('0x01')])
    tried('a')
    known.resolve(block('a'))
    expect(await reads.work.join(patient)).toEqual({ at: block('a'), value: { outcomes: [returned('0x0a')] } })
    expect(read).toEqual([{ hash: block('a').hash, count: 1 }])
  })

  it('is thrown away when the as-of block is another one, also of the same number and timestamp', async () => {
    const { reads, known, read, tried } = stage()
    reads.add([request('0x01')])
    tried('a')
    known.resolve(block('b'))
    expect((await reads.work.join(patient)).value.outcomes).toEqual([returned('0x0b')])
    expect(read.map(({ hash }) => hash)).toEqual([block('a').hash, block('b').hash])
  })

  it('is completed by what was asked for since', async () => {
    const { reads, known, read, tried } = stage()
    reads.add([request('0x01')])
    tried('a')
    const more = reads.add([request('0x02'), request('0x01'), request('0x02')])
    known.resolve(block('a'))
    const { value } = await reads.work.join(patient)
    expect(value.outcomes).toHaveLength(2)
    expect(await reads.outcomesOf(more, value, patient)).toEqual(Array.from({ length: 3 }, () => returned('0x0a')))
    expect(read.map(({ count }) => count)).toEqual([1, 1])
  })

  it('is read again when it could not be read', async () => {
    const { reads, known, read } = stage()
    reads.add([request('0x01')])
    reads.tryAt(block('a'), () => Promise.reject(new Error('out of gas')))
    known.resolve(block('a'))
    expect((await reads.work.join(patient)).value.outcomes).toEqual([returned('0x0a')])
    expect(read).toHaveLength(1)
  })
})
