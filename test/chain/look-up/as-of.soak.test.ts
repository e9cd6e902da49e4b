import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EndpointFailure } from '../../../src/chain/endpoint/failures.ts'
import { type AsOfAnswer, KnownHeaders, nextStep } from '../../../src/chain/look-up/as-of.ts'
import { AsOfSearch } from '../../../src/chain/look-up/look-ups.ts'
import type { BlockHeader } from '../../../src/chain/shapes.ts'
import type { Hour } from '../../../src/model/hour.ts'
import { repetitions } from '../../support/soak.ts'
import { headerOf, type ScriptedChain, scriptedChain } from '../support/scripted-chain.ts'

/** Runs the search for one hour, or for several together, to its end. */
function searchAll(chain: ScriptedChain, hours: readonly number[], seeds: readonly BlockHeader[] = []) {
  const asked = hours.map(seconds => (seconds * 1000) as Hour)
  const search = { hours: asked, seeds, nowSeconds: 2_000_000_000 }
  let [session, rounds, calls] = [new AsOfSearch(search, seeds), 0, 0]
  for (let question = session.question(); question; question = session.question()) {
    rounds += 1
    calls += question.numbers.length + Number(question.latest)
    expect(calls).toBeGreaterThan(0)
    const numbers = question.numbers.filter(number => number <= chain.head)
    expect(question.latest || numbers.length === question.numbers.length).toBe(true)
    const headers = numbers.map(number => chain.header(number)).filter(header => header !== undefined)
    const empty = numbers.filter(number => chain.header(number) === undefined)
    const absentBlocks = new Map(
      empty.map(number => [number, new EndpointFailure('node', `does not have block ${number}`)]),
    )
    expect(numbers.some(number => session.known.isAbsent(number))).toBe(false)
    const latest = question.latest ? chain.header(chain.head) : undefined
    if (!session.learn({ latest, headers, absentBlocks })) session = new AsOfSearch(search, [])
  }
  const answers = asked.map(hour => session.answers.get(hour))
  return { answers: answers.filter(answer => answer !== undefined), rounds, calls }
}

function search(chain: ScriptedChain, hourSeconds: number, seeds: readonly BlockHeader[] = []) {
  const { answers, rounds, calls } = searchAll(chain, [hourSeconds], seeds)
  const [step] = answers
  if (!step) throw new Error('the search ended without an answer')
  return { step, rounds, headers: calls }
}

const atMost = (count: number) => expect.toSatisfy((asked: number) => asked <= count, `at most ${count}`)

/** Differences from a first step that is taken long after the hour. */
interface Step {
  readonly late?: number
  readonly ageSeconds?: number
  readonly absent?: readonly number[]
  readonly rounds?: number
  readonly emptyRounds?: number
  readonly minimise?: 'calls'
}

/** The right answer of the search, by looking at every block. */
function linearScan(timestamps: readonly number[], hourSeconds: number): string {
  const last = timestamps.findLastIndex(timestamp => timestamp <= hourSeconds)
  if (last === timestamps.length - 1) return 'past-head'
  return last === -1 ? 'before-first' : `found ${last}`
}

const said = (step: AsOfAnswer) => (step.kind === 'found' ? `found ${step.block.number}` : step.kind)

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
  it('says what a linear scan says, whatever the chain, the hour and the headers known before', () => {
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
        // Estimates fail at most four times, then the range halves at least.
        expect(rounds).toBeLessThanOrEqual(6 + Math.ceil(Math.log2(timestamps.length + 1)))
        if (step.kind !== 'found') return
        expect(step.block.timestampSeconds).toBeLessThanOrEqual(hourSeconds)
        expect(step.after.timestampSeconds).toBeGreaterThan(hourSeconds)
        expect(step.after.parentHash).toBe(step.block.hash)
      }),
      { numRuns: repetitions({ test: 150, soak: 20_000 }) },
    )
  })

  it('says what a linear scan says on a chain whose numbers have holes, up to five in a row', () => {
    const cases = irregularTimestamps.chain(timestamps => {
      const last = timestamps.length - 1
      const around = fc.constantFrom(...timestamps).chain(at => fc.constantFrom(at - 1, at, at + 1))
      return fc.record({
        timestamps: fc.constant(timestamps),
        hourSeconds: around,
        empty: fc.array(fc.integer({ min: 1, max: Math.max(1, last - 1) }), { maxLength: 60 }),
        seeds: fc.array(fc.nat(last), { maxLength: 5 }),
      })
    })
    fc.assert(
      fc.property(cases, ({ timestamps, hourSeconds, empty, seeds }) => {
        const last = timestamps.length - 1
        const holes = new Set(empty.filter(number => number > 0 && number < last).map(BigInt))
        fc.pre(timestamps.every((_, at) => [0, 1, 2, 3, 4, 5].some(one => !holes.has(BigInt(at + one)))))
        const chain = scriptedChain(last, number => timestamps[number] ?? Number.NaN, {
          isEmpty: one => holes.has(one),
        })
        const headers = seeds.map(number => chain.header(BigInt(number))).filter(header => header !== undefined)
        const { step } = search(chain, hourSeconds, headers)
        const there = timestamps.map((at, number) => [at, number] as const).filter(([, one]) => !holes.has(BigInt(one)))
        const scan = linearScan(
          there.map(([at]) => at),
          hourSeconds,
        )
        const place = Number(/^found (\d+)$/.exec(scan)?.[1] ?? Number.NaN)
        expect(said(step)).toBe(Number.isNaN(place) ? scan : `found ${there[place]?.[1]}`)
        if (step.kind === 'found') expect(step.after.parentHash).toBe(step.block.hash)
      }),
      { numRuns: repetitions({ test: 80, soak: 10_000 }) },
    )
  })

  it.each([
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

  it('takes few round trips on 20 million blocks, cold', () => {
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

  it('halves the range with each round trip where interpolation is of no use', () => {
    // One block a second, then a pause of 30 years: the line between the ends says nothing about the blocks between.
    const chain = scriptedChain(4_000_000, number => (number === 4_000_000 ? 1e9 : number))
    for (const hourSeconds of [3_600, 1_800_000, 3_996_000]) {
      const { step, rounds } = search(chain, hourSeconds)
      expect(said(step)).toBe(`found ${hourSeconds}`)
      expect(rounds).toBeLessThanOrEqual(2 + 22)
    }
  })

  it.each([
    [
      'slots of 12 s, a tenth of them missed',
      (part: number) => 12 * Math.ceil(Math.log(1 - part) / Math.log(0.1) + 1e-9),
      { cold: [17, 47], next: [16, 46], together: [4, 19] },
    ],
    [
      'blocks at random, 13 s apart on average',
      (part: number) => Math.max(1, Math.round(-13 * Math.log(1 - part))),
      { cold: [23, 60], next: [17, 61], together: [5, 30] },
    ],
    [
      'three or four blocks a second',
      (part: number) => Number(part < 0.3),
      { cold: [23, 64], next: [24, 69], together: [6, 28] },
    ],
  ])('asks no more than it must: %s', (_, gapOf, most) => {
    // Round trips and headers, of seven hours.
    const timestamps = [1_600_000_000]
    for (let number = 1; number <= 100_000; number += 1)
      timestamps.push((timestamps.at(-1) ?? 0) + gapOf(((number * 0x9e3779b1) >>> 0) / 2 ** 32))
    const chain = scriptedChain(100_000, number => timestamps[number] ?? Number.NaN)
    const hours = Array.from({ length: 7 }, (_, index) => 1_600_002_000 + 3_600 * (index + 1))
    const cold = hours.map(hour => search(chain, hour))
    const next = hours.slice(1).map((hour, index) => {
      const before = cold[index]?.step
      return search(chain, hour, before?.kind === 'found' ? [before.block] : [])
    })
    const together = searchAll(chain, hours)
    const sum = (searches: readonly { rounds: number; headers: number }[]) => [
      searches.reduce((total, { rounds }) => total + rounds, 0),
      searches.reduce((total, { headers }) => total + headers, 0),
    ]
    const asked = { cold: sum(cold), next: sum(next), together: [together.rounds, together.calls] }
    expect(asked).toEqual(Object.fromEntries(Object.entries(most).map(([kind, counts]) => [kind, counts.map(atMost)])))
  })

  const slots = (number: number) => 1_600_000_000 + 12 * number
  const missed = (number: number) => slots(number + Math.floor(number / 10))
  const many = (number: number) => 1_600_000_000 + Math.floor(number / 4)
  const sinceFirst = (seconds: number) => (number: number) => seconds + 10 * number
  it.each<[timestampOf: (number: number) => number, known: number[], at: number, asked: (number | 'latest')[], Step?]>([
    [slots, [], 200, ['latest', 0]],
    // Of a present hour the last block tells more.
    [slots, [100], 200, ['latest'], { ageSeconds: 599 }],
    [slots, [100], 200, ['latest', 200, 201], { ageSeconds: 600 }],
    [slots, [100], 200, ['latest', 200, 201], { late: 5 }],
    [slots, [100], 200, ['latest', 201, 202], { late: 6 }],
    [slots, [100], 100, ['latest', 101]],
    [slots, [98, 99, 100], 300, ['latest', 300, 301]],
    [missed, [8, 9, 10, 11], 900, ['latest', 745, 746]],
    // The pace since the first block, unless that is stamped before 2001.
    [sinceFirst(1_000_000_000), [0, 100], 300, ['latest', 300, 301]],
    [sinceFirst(999_999_999), [0, 100], 300, ['latest', 267, 268]],
    [slots, [100], 50, [0, 1, 49]],
    [slots, [100], 50, [2, 49], { absent: [0, 1] }],
    // Few numbers are all asked for, but not those that have no block.
    [slots, [100, 104], 101, [101, 102, 103], { minimise: 'calls' }],
    [slots, [100, 105], 101, [102], { minimise: 'calls' }],
    [slots, [100, 109], 101, [102, 103, 104, 106, 107, 108], { absent: [101, 105] }],
    [slots, [100, 110], 101, [105, 106]],
    [slots, [100, 101, 400, 401], 200, [200, 201], { late: 5 }],
    [slots, [100, 101, 400, 401], 350, [350, 351], { late: 5 }],
    [slots, [100, 101, 400, 401], 200, [199, 201], { absent: [200] }],
    // The middle, where estimates have failed.
    [slots, [100, 101, 400, 500], 200, [200, 201], { rounds: 3 }],
    [slots, [100, 101, 400, 500], 200, [200, 201, 250], { rounds: 4 }],
    // All around, where the last numbers had no block.
    [slots, [100, 101, 400, 401], 200, [200, 199, 201, 198, 202, 197, 203], { emptyRounds: 1 }],
    [
      slots,
      [100, 101, 400, 401],
      200,
      [201, 198, 197, 203, 196, 204, 195, 205],
      { emptyRounds: 1, absent: [200, 199, 202] },
    ],
    [slots, [100, 101, 400, 401], 102, [102, 103, 104, 105, 106, 107, 108], { emptyRounds: 1 }],
    // Wider, where the pace is not even.
    [missed, [8, 9, 10, 1_000, 1_001], 400, [395, 400, 401, 406]],
    [missed, [8, 9, 10, 1_000, 1_001], 900, [897, 900, 901, 904]],
    [missed, [8, 9, 10, 1_000, 1_001], 400, [400], { minimise: 'calls' }],
    [many, [100, 104, 8_996, 9_000], 4_000, [3_995, 4_002, 4_003, 4_010]],
    [many, [100, 104, 8_996, 9_000], 8_000, [8_001], { minimise: 'calls' }],
  ])(
    '%o, of whose blocks %j are known, at that of %i, asks for %j (%j)',
    (timestampOf, known, at, asked, step = {}) => {
      const { late = 0, ageSeconds = 600, absent = [], ...rest } = step
      const [chain, headers, hourSeconds] = [
        scriptedChain(10_000, timestampOf),
        new KnownHeaders(),
        timestampOf(at) + late,
      ]
      for (const number of known) headers.add(headerOf(chain, number))
      for (const number of absent) headers.addAbsent(BigInt(number))
      const given = { rounds: 0, emptyRounds: 0, minimise: 'rounds', nowSeconds: hourSeconds + ageSeconds } as const
      const question = nextStep(headers, hourSeconds, { ...given, ...rest })
      if (question.kind !== 'ask') throw new Error(question.kind)
      expect([...(question.latest ? ['latest'] : []), ...question.numbers.map(Number)]).toEqual(asked)
    },
  )

  it('the next hour, with the last one known, takes two round trips', () => {
    const chain = scriptedChain(1_000_000, number => 1_600_000_000 + 12 * number)
    const hourSeconds = 1_600_000_000 + 12 * 1_000_000 - 20
    const before = search(chain, hourSeconds - 3_600).step
    if (before.kind !== 'found') throw new Error('not found')
    const { step, rounds } = search(chain, hourSeconds, [before.block, before.after])
    expect(said(step)).toBe('found 999998')
    expect(rounds).toBeLessThanOrEqual(2)
  })

  it('headers of two forks are a contradiction, not an answer', () => {
    const timestampOf = (number: number) => number * 12
    const [chain, reorged] = [scriptedChain(300, timestampOf), scriptedChain(300, timestampOf, { fork: 200 })]
    const block = chain.header(249n)
    const after = reorged.header(250n)
    if (!block || !after) throw new Error('no header')
    const known = new KnownHeaders()
    expect([known.add(block), known.add(after)]).toEqual([true, false])
    const late = chain.header(100n)
    if (!late) throw new Error('no header')
    const [first, second] = [new KnownHeaders(), new KnownHeaders()]
    expect([first.add(late), first.add({ ...block, number: 50n })]).toEqual([true, false])
    expect([second.add(late), second.add({ ...late, hash: block.hash })]).toEqual([true, false])
  })

  it('a block of an earlier search is asked for again before it proves another one', () => {
    const chain = scriptedChain(300, number => number * 12, { fork: 200 })
    const lost = scriptedChain(300, number => number * 12).header(249n)
    const kept = chain.header(250n)
    if (!lost || !kept) throw new Error('no header')
    const { number, hash, timestampSeconds } = kept
    const { step } = search(chain, 249 * 12, [lost, { number, hash, timestampSeconds }])
    expect(step).toMatchObject({ kind: 'found', block: chain.header(249n) })
  })
})
