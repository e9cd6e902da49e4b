import { describe, expect, it } from 'vitest'
import { mergedLists, readList } from '../../../src/chain/read/hour-reads.ts'
import type { ReadRequest } from '../../../src/chain/reads.ts'
import type { Hex } from '../../../src/model/block.ts'

const to: Hex = `0x${'c0'.repeat(20)}`
const call = (input: Hex): ReadRequest => ({ kind: 'call', to, input })
const [one, two, three] = [call('0x01'), call('0x02'), call('0x03')]
const ofAnyKind: readonly ReadRequest[] = [
  one,
  { kind: 'call', to: `0x${'c1'.repeat(20)}`, input: '0x01' },
  { kind: 'call-from', from: to, to, input: '0x01' },
  { kind: 'call-from', from: `0x${'c1'.repeat(20)}`, to, input: '0x01' },
  { kind: 'balance', address: to },
  { kind: 'storage', address: to, slot: `0x${'00'.repeat(32)}` },
  { kind: 'storage', address: to, slot: `0x${'01'.repeat(32)}` },
]

describe('a list of reads', () => {
  it('has each different read once, and says where it is', () => {
    expect(readList([one, two, { ...one }])).toMatchObject({ distinct: [one, two], places: [0, 1, 0] })
    expect(readList(ofAnyKind).distinct).toEqual(ofAnyKind)
  })

  it('names the first read that must not be sent', () => {
    expect(readList([one, two]).odd).toBeUndefined()
    expect(readList([one, call('0x0'), call('0xzz')]).odd).toEqual(call('0x0'))
  })

  it('does not change with the list that was asked for', () => {
    const asked = [one, two]
    const list = readList(asked)
    asked.push(three)
    expect(list.requests).toEqual([one, two])
  })

  it('is merged with others behind the reads of those before', () => {
    const [first, second] = [readList([two, one, two]), readList([three, one])]
    expect(mergedLists(new Set([first])).requests).toEqual([two, one])
    const { requests, placesOf } = mergedLists(new Set([first, second]))
    expect(requests).toEqual([two, one, three])
    expect([placesOf.get(first), placesOf.get(second)]).toEqual([
      [0, 1, 0],
      [2, 1],
    ])
  })
})
