import { expect, it } from 'vitest'
import list from '../../collectors/list.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { hour } from '../runner/setup.ts'

type Address = `0x${string}`
type Call = { readonly functionName: string; readonly args?: readonly [bigint] }

const itemAt = (place: number): Address => `0x${(place + 1).toString(16).padStart(40, '0')}`
const grown = (count: number) => Array.from({ length: count }, (_, place) => itemAt(place))
const other = itemAt(999_999)

/** Reads a list that has these items now, and had others before. @returns the items, and how many of them were asked for */
async function read(now: readonly Address[], before: readonly Address[], hours: number) {
  let asked = 0
  const answer = ({ functionName, args }: Call) => {
    if (functionName === 'size') return BigInt(now.length)
    asked += 1
    const found = now[Number(args?.[0])]
    if (!found) throw new Error('out of range')
    return found
  }
  const chain = { read: async (calls: Call | readonly Call[]) => ('map' in calls ? calls.map(answer) : answer(calls)) }
  const context = {
    ...{ hour, isFinal: true, known: { hour: hourAfter(hour, -hours), items: before } },
    chain: () => chain,
    options: {
      chain: 'demo',
      address: itemAt(7),
      length: 'size() view returns (uint256)',
      item: 'at(uint256) view returns (address)',
    },
  }
  // A part of what a run is given.
  const { items } = await list.listOf(context as never)
  return { items, asked }
}

it.for([
  ['one that was added', grown(2_000), grown(2_001), 1, 2],
  ['none that was added', grown(2_000), grown(2_000), 1, 1],
  ['an earlier hour', grown(2_000), grown(1_500), -1, 1],
  ['an earlier hour without any', grown(2_000), [], -1, 0],
  ['an earlier hour of another branch', grown(2_000), [...grown(1_499), other], -1, 1_501],
  ['one that is gone', grown(2_000), grown(1_999), 1, 2_000 + 1],
  ['another at the end', grown(2_000), [...grown(1_999), other], 1, 2_001],
  ['a short list with another in a place', grown(900), [other, ...grown(900).slice(1)], 1, 900],
  ['a short list in an earlier hour', grown(900), grown(800), -1, 800],
] as const)('%s', async ([, before, now, hours, most]) => {
  const { items, asked } = await read(now, before, hours)
  expect(items).toEqual(now)
  expect(asked).toBeLessThanOrEqual(most)
})
