import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OpenChainReader } from '../../src/chain/read/reader.ts'
import type { AsOfBlock } from '../../src/model/block.ts'
import { Fault } from '../../src/model/fault.ts'
import { type Hour, hourAfter, hourAt, hoursFrom } from '../../src/model/hour.ts'
import { repetitions } from '../support/soak.ts'
import { patient } from './support/readers.ts'
import { headerOf, listedChain, type ScriptedChain } from './support/scripted-chain.ts'
import { type SyntheticArchive, syntheticArchive } from './support/synthetic-archive.ts'
import { MemoryFinalBlocks } from './support/synthetic-final-blocks.ts'
import { SyntheticScene } from './support/synthetic-reader.ts'
import { type Truth, truthOf } from './support/truth.ts'

/** The as-of block by the reader, over HTTP, against looking at every block of small random chains. */

const hourSeconds = 3_600
const baseSeconds = 1_700_002_800

/** Step from one block to the next: a gap, or a full hour it is stamped with exactly. */
type Beat = { readonly seconds: number } | { readonly hours: number }

const gap = (seconds: fc.Arbitrary<number>) => seconds.map((seconds): Beat => ({ seconds }))
const beat: fc.Arbitrary<Beat> = fc.oneof(
  { weight: 6, arbitrary: gap(fc.constant(12)) },
  { weight: 4, arbitrary: gap(fc.constantFrom(24, 36, 120)) },
  { weight: 3, arbitrary: gap(fc.constant(0)) },
  { weight: 3, arbitrary: gap(fc.integer({ min: 1, max: 2_000 })) },
  { weight: 1, arbitrary: gap(fc.integer({ min: hourSeconds, max: 5 * hourSeconds })) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 3 }).map((hours): Beat => ({ hours })) },
)

function stamped(first: readonly number[], beats: readonly Beat[]): number[] {
  const timestamps = [...first]
  for (const beat of beats) {
    const last = timestamps.at(-1) ?? 0
    const next = (Math.floor(last / hourSeconds) + ('hours' in beat ? beat.hours : 0)) * hourSeconds
    timestamps.push('hours' in beat ? next : last + beat.seconds)
  }
  return timestamps
}

/** Block 0 as it is on chains: like the rest, or stamped 1970, with or without the seconds. */
const firstBlocks = fc.oneof(
  fc.nat(2 * hourSeconds).map(after => [baseSeconds + after]),
  fc.constant([0]),
  fc.tuple(fc.constantFrom(0, 1), fc.nat(2 * hourSeconds)).map(([genesis, after]) => [genesis, baseSeconds + after]),
)

const smallChains = fc
  .tuple(firstBlocks, fc.array(beat, { maxLength: 250 }))
  .map(([first, beats]) => stamped(first, beats))

const around = (seconds: number) => hourAt(seconds * 1_000)

/** Hours from before the first block (not of 1970) to past the head. */
function hoursOf(timestamps: readonly number[]): Hour[] {
  const [first = 0, second = first, last = 0] = [timestamps[0], timestamps[1], timestamps.at(-1)]
  const from = last - first > 1e9 ? second : first
  return hoursFrom(hourAfter(around(from), -2), hourAfter(around(last), 3)).slice(0, 400)
}

const questions = smallChains.chain(timestamps => {
  const hour = fc.constantFrom(...hoursOf(timestamps))
  return fc.record({
    timestamps: fc.constant(timestamps),
    /** Each group is asked in one turn, in any order, and an hour may be asked twice. */
    groups: fc.array(fc.array(hour, { minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 3 }),
    known: fc.array(hour, { maxLength: 20 }),
    headAgeSeconds: fc.constantFrom(1, 86_400),
  })
})

let scene: SyntheticScene
let archive: SyntheticArchive
let current: ScriptedChain

beforeAll(async () => {
  current = listedChain([0])
  const chain: ScriptedChain = {
    get head() {
      return current.head
    },
    timestampOf: number => current.timestampOf(number),
    asOf: seconds => current.asOf(seconds),
    header: number => current.header(number),
  }
  archive = syntheticArchive(chain)
  scene = await SyntheticScene.start(archive)
})
afterAll(() => scene[Symbol.asyncDispose]())

function serve(chain: ScriptedChain, headAgeSeconds = 1): void {
  current = chain
  scene.setHead(Number(chain.head), headAgeSeconds)
}

/** The result of a look-up, in the words of the truth. */
async function said(reader: OpenChainReader, hour: Hour): Promise<Truth> {
  return resultOf(reader.block(hour, patient))
}

async function resultOf(work: Promise<AsOfBlock>): Promise<Truth> {
  try {
    const { number, hash, timestampSeconds } = await work
    return { kind: 'found', number: Number(number), hash, timestampSeconds }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    if (error.code === 'chain-before-first-block') return { kind: 'before-first' }
    // A node whose head is old is taken for one that lags.
    if (error.code === 'chain-behind' || error.code === 'chain-unreachable') return { kind: 'past-head' }
    throw error
  }
}

/** True blocks of some hours, as they were kept before. */
function keptOf(chain: ScriptedChain, hours: readonly Hour[]): MemoryFinalBlocks {
  const finalBlocks = new MemoryFinalBlocks()
  for (const hour of hours) {
    const truth = truthOf(chain, hour)
    if (truth.kind !== 'found') continue
    const { number, timestampSeconds } = truth
    void finalBlocks.keep([
      { hour, block: { number: BigInt(number), hash: headerOf(chain, number).hash, timestampSeconds } },
    ])
  }
  return finalBlocks
}

describe('the as-of block by the reader', () => {
  it('is what a linear scan says, for any hours of any chain in one turn, in any order, whatever was kept before', async () => {
    await fc.assert(
      fc.asyncProperty(questions, async ({ timestamps, groups, known, headAgeSeconds }) => {
        const chain = listedChain(timestamps)
        serve(chain, headAgeSeconds)
        const finalBlocks = keptOf(chain, known)
        const reader = scene.reader(finalBlocks)
        for (const hours of groups) {
          const answers = await Promise.all(hours.map(hour => said(reader, hour)))
          expect(answers).toEqual(hours.map(hour => truthOf(chain, hour)))
        }
        for (const [hour, { number, hash }] of finalBlocks.all()) {
          expect({ number: Number(number), hash }).toMatchObject(onlyIds(truthOf(chain, hour)))
        }
      }),
      { numRuns: repetitions({ test: 20, soak: 1_000 }) },
    )
  })
})

function onlyIds(truth: Truth): { number: number; hash: string } {
  if (truth.kind !== 'found') throw new Error(`kept a block of an hour that is ${truth.kind}`)
  return { number: truth.number, hash: truth.hash }
}

/** A chain up to a moment before an hour, and two ways it goes on. */
const reorgs = fc.record({
  length: fc.integer({ min: 1, max: 900 }),
  secondsToHour: fc.integer({ min: 0, max: 40 }),
  lost: fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 2, maxLength: 2 }),
  won: fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 2, maxLength: 5 }),
  /** Number of requests that the losing chain answers still. */
  requests: fc.nat(5),
  /** Hours looked up before, and hours asked for in the same turn: so many before. */
  hoursBefore: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }),
  hoursAlso: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 4 }),
})

const reorgHour = hourAt((baseSeconds + 4 * hourSeconds) * 1_000)

function branch(length: number, secondsToHour: number, gaps: readonly number[], fork?: number): ScriptedChain {
  const first = reorgHour / 1_000 - secondsToHour - 12 * (length - 1)
  const shared = Array.from({ length }, (_, number) => first + 12 * number)
  return listedChain(
    stamped(
      shared,
      gaps.map(seconds => ({ seconds })),
    ),
    fork,
  )
}

describe('a reorg of two blocks across the hour, between any two answers,', () => {
  it('never mixes two chains, and after a re-check all is of the one that won', async () => {
    await fc.assert(
      fc.asyncProperty(reorgs, async ({ length, secondsToHour, lost, won, requests, ...hours }) => {
        const before = branch(length, secondsToHour, lost)
        const after = branch(length, secondsToHour, won, length)
        serve(before)
        const reader = scene.reader(new MemoryFinalBlocks())
        const ago = (back: number) => hourAfter(reorgHour, -back)
        for (const hour of hours.hoursBefore.map(ago)) await said(reader, hour)
        const reorganized = afterRequests(requests, () => serve(after))
        const asked = [reorgHour, ...hours.hoursAlso.map(ago)]
        const first = await Promise.all(asked.map(hour => said(reader, hour)))
        reorganized()
        for (const [index, hour] of asked.entries()) {
          expect([truthOf(before, hour), truthOf(after, hour)]).toContainEqual(first[index])
        }
        const truth = truthOf(after, reorgHour)
        expect(await resultOf(reader.recheck(reorgHour, patient))).toEqual(truth)
        const again = [...asked, ...hours.hoursBefore.map(ago)]
        expect(await Promise.all(again.map(hour => said(reader, hour)))).toEqual(
          again.map(hour => truthOf(after, hour)),
        )
        if (truth.kind !== 'found') return
        const { at, value } = await reader.read(reorgHour, [{ kind: 'call', to: contract, input: '0x01' }], patient)
        expect(at.hash).toBe(truth.hash)
        expect(value.map(answer => answer.kind === 'returned' && Number(answer.output))).toEqual([truth.number])
      }),
      { numRuns: repetitions({ test: 20, soak: 1_000 }) },
    )
  })
})

const contract = `0x${'11'.repeat(20)}` as const

/** Does something once the archive has answered so many more requests, or on demand. */
function afterRequests(count: number, act: () => void): () => void {
  const { counts } = archive
  const last = counts.requests + count
  const once = () => {
    archive.beforeAnswer = undefined
    act()
  }
  archive.beforeAnswer = () => {
    if (counts.requests > last) once()
  }
  return () => {
    if (archive.beforeAnswer) once()
  }
}
