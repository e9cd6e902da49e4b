import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Header, type Known, nextStep, type Step } from '../../src/chain/as-of.ts'
import { headersPerRoundMax } from '../../src/chain/limits.ts'
import { type ScriptedChain, scriptedChain } from './support/scripted-chain.ts'

function ask(chain: ScriptedChain, known: Known, numbers: readonly (bigint | 'latest')[]): Known {
  const answers = numbers.map(number => chain.header(number === 'latest' ? chain.head : number))
  const found = answers.filter(header => header !== undefined)
  expect(found).toHaveLength(numbers.length)
  const head = numbers.includes('latest') ? chain.header(chain.head) : known.head
  return { headers: [...known.headers, ...found], ...(head && { head }) }
}

/** Runs the search to its end. */
function search(chain: ScriptedChain, hourSeconds: number, seeds: readonly Header[] = []) {
  let known: Known = { headers: seeds }
  for (let rounds = 0; ; rounds++) {
    const step: Step = nextStep(known, hourSeconds)
    if (step.kind !== 'ask') return { step, rounds, headers: known.headers.length }
    expect(step.numbers.length).toBeGreaterThan(0)
    expect(step.numbers.length).toBeLessThanOrEqual(headersPerRoundMax)
    known = ask(chain, known, step.numbers)
  }
}

/** What the search must say, by looking at every block. */
function linearScan(timestamps: readonly number[], hourSeconds: number): string {
  const last = timestamps.findLastIndex(timestamp => timestamp <= hourSeconds)
  if (last === timestamps.length - 1) return 'past-head'
  return last === -1 ? 'before-first' : `found ${last}`
}

const said = (step: Step) => (step.kind === 'found' ? `found ${step.block.number}` : step.kind)

/** Gaps between blocks: regular, several blocks a second, missed slots, pauses of hours. */
const gapSeconds = fc.oneof(
  { weight: 6, arbitrary: fc.constant(12) },
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 60 }) },
  { weight: 1, arbitrary: fc.integer({ min: 3_600, max: 36_000 }) },
)
const irregularTimestamps = fc
  .tuple(fc.integer({ min: 0, max: 5_000 }), fc.array(gapSeconds, { maxLength: 400 }))
  .map(([genesis, gaps]) => {
    let at = genesis
    return [genesis, ...gaps.map(gap => (at += gap))]
  })

describe('the search for the as-of block', () => {
  test('says what a linear scan says, whatever the chain, the hour and the headers known before', () => {
    const cases = irregularTimestamps.chain(timestamps => {
      const around = fc.constantFrom(...timestamps).chain(at => fc.constantFrom(at - 1, at, at + 1, at + 1_800))
      return fc.record({
        timestamps: fc.constant(timestamps),
        hourSeconds: fc.oneof(around, fc.integer({ min: -10, max: (timestamps.at(-1) ?? 0) + 100 })),
        seeds: fc.array(fc.nat(timestamps.length - 1), { maxLength: 5 }),
      })
    })
    fc.assert(
      fc.property(cases, ({ timestamps, hourSeconds, seeds }) => {
        const chain = scriptedChain(timestamps.length - 1, number => timestamps[number] ?? Number.NaN)
        const headers = seeds.map(number => chain.header(BigInt(number))).filter(header => header !== undefined)
        const { step, rounds } = search(chain, hourSeconds, headers)
        expect(said(step)).toBe(linearScan(timestamps, hourSeconds))
        // One round for the head, one for first guesses, then the range halves at least.
        expect(rounds).toBeLessThanOrEqual(2 + Math.ceil(Math.log2(timestamps.length + 1)))
        if (step.kind !== 'found') return
        expect(step.block.timestampSeconds).toBeLessThanOrEqual(hourSeconds)
        expect(step.after.timestampSeconds).toBeGreaterThan(hourSeconds)
        expect(step.after.parentHash).toBe(step.block.hash)
      }),
      { numRuns: 2_000 },
    )
  })

  test.each([
    ['one block after the hour', [100], 99, 'before-first'],
    ['one block at the hour', [100], 100, 'past-head'],
    ['one block before the hour', [100], 101, 'past-head'],
    ['an hour exactly on a timestamp', [0, 12, 24, 36], 24, 'found 2'],
    ['several blocks with the timestamp of the hour', [0, 24, 24, 24, 36], 24, 'found 3'],
    ['a pause across the hour', [0, 12, 90_000], 3_600, 'found 1'],
    ['the hour at the head: a block with the same timestamp may follow', [0, 12, 24], 24, 'past-head'],
  ])('%s', (_, timestamps, hourSeconds, answer) => {
    const chain = scriptedChain(timestamps.length - 1, number => timestamps[number] ?? Number.NaN)
    expect(said(search(chain, hourSeconds).step)).toBe(answer)
  })

  test('takes few round trips on 20 million blocks, cold', () => {
    // Every 97th slot is missed; block 0 is stamped 1970 as Ethereum's is.
    const timestampOf = (number: number) => (number === 0 ? 0 : 1_600_000_000 + 12 * (number + Math.floor(number / 97)))
    const chain = scriptedChain(20_000_000, timestampOf)
    for (const hourSeconds of [1_600_003_600, 1_700_002_800, 1_842_472_800]) {
      const { step, rounds, headers } = search(chain, hourSeconds)
      expect(step.kind).toBe('found')
      expect(rounds).toBeLessThanOrEqual(8)
      expect(headers).toBeLessThanOrEqual(40)
    }
  })

  test('halves the range with each round trip where interpolation is of no use', () => {
    // One block a second, then a pause of 30 years: the line between the ends says nothing about the blocks between.
    const chain = scriptedChain(4_000_000, number => (number === 4_000_000 ? 1e9 : number))
    for (const hourSeconds of [3_600, 1_800_000, 3_996_000]) {
      const { step, rounds } = search(chain, hourSeconds)
      expect(said(step)).toBe(`found ${hourSeconds}`)
      expect(rounds).toBeLessThanOrEqual(2 + 22)
    }
  })

  test('the next hour, with the last one known, takes two round trips', () => {
    const chain = scriptedChain(1_000_000, number => 1_600_000_000 + 12 * number)
    const hourSeconds = 1_600_000_000 + 12 * 1_000_000 - 20
    const before = search(chain, hourSeconds - 3_600).step
    if (before.kind !== 'found') throw new Error('not found')
    const { step, rounds } = search(chain, hourSeconds, [before.block, before.after])
    expect(said(step)).toBe('found 999998')
    expect(rounds).toBeLessThanOrEqual(2)
  })

  test('headers of two forks are a contradiction, not an answer', () => {
    const timestampOf = (number: number) => number * 12
    const [chain, reorged] = [scriptedChain(300, timestampOf), scriptedChain(300, timestampOf, 200)]
    const block = chain.header(249n)
    const after = reorged.header(250n)
    if (!block || !after) throw new Error('no header')
    expect(nextStep({ headers: [block, after] }, 249 * 12).kind).toBe('contradiction')
    const [late, early] = [chain.header(100n), { ...block, number: 50n }]
    expect(nextStep({ headers: [early, late].filter(header => header !== undefined) }, 1_200).kind).not.toBe('found')
  })
})
