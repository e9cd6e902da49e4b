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
async function read(now: readonly Address[], before: readonly Address[], hours: number, grows?: true, at = hour) {
  let asked = 0
  const answer = ({ functionName, args }: Call) => {
    if (functionName === 'size') return BigInt(now.length)
    asked += 1
    const found = now[Number(args?.[0])]
    if (!found) throw new Error('out of range')
    return found
  }
  const warnings: string[] = []
  const chain = { read: async (calls: Call | readonly Call[]) => ('map' in calls ? calls.map(answer) : answer(calls)) }
  const context = {
    ...{ hour: at, finalHour: at, memory: { hour: hourAfter(at, -hours), items: before } },
    chain: () => chain,
    log: { warn: (sentence: string) => void warnings.push(sentence) },
    options: {
      ...{ chain: 'demo', address: itemAt(7), grows },
      length: 'size() view returns (uint256)',
      item: 'at(uint256) view returns (address)',
    },
  }
  // A part of what a run is given.
  const { items } = await list.listOf(context as never)
  return { items, asked, isWarned: warnings.some(sentence => sentence.includes('remove grows')) }
}

// The last and every second of 2,000, and what is new.
it.for([
  ['one that was added', grown(2_000), grown(2_001), 1, 1_002],
  ['none that was added', grown(2_000), grown(2_000), 1, 1_001],
  ['an earlier hour', grown(2_000), grown(1_500), -1, 751],
  ['an earlier hour without any', grown(2_000), [], -1, 0],
  ['a short list', grown(900), grown(901), 1, 901],
] as const)('that only grows: %s', async ([, before, now, hours, most]) => {
  const { items, asked, isWarned } = await read(now, before, hours, true)
  expect([items, isWarned]).toEqual([now, false])
  expect(asked).toBeLessThanOrEqual(most)
})

it.for([
  ['an earlier hour of another branch', [...grown(1_499), other], -1],
  ['one that is gone', grown(1_999), 1],
  ['another at the end', [...grown(1_999), other], 1],
] as const)('that does not only grow, as its contract turns out: %s', async ([, now, hours]) => {
  expect(await read(now, grown(2_000), hours, true)).toMatchObject({ items: now, isWarned: true })
})

it('that only grows: each item is read again within as many hours as samples need', async () => {
  const before = grown(4_500)
  const found = [...before.slice(0, 1_234), other, ...before.slice(1_235)]
  const hours = await Promise.all([0, 1, 2, 3, 4].map(later => read(found, before, 1, true, hourAfter(hour, later))))
  expect(hours.filter(({ isWarned }) => isWarned)).toHaveLength(1)
})

it('reads all again, in the call of the length, where it does not only grow', async () => {
  const before = grown(2_000)
  const moved = [other, ...before.slice(1), itemAt(5_000)]
  expect(await read(moved, before, 1)).toEqual({ items: moved, asked: 2_001, isWarned: false })
  // An earlier hour may have fewer.
  expect(await read(before.slice(0, 700), moved, -1)).toEqual({
    items: before.slice(0, 700),
    asked: 700,
    isWarned: false,
  })
})
