import { describe, expect, it, onTestFinished } from 'vitest'
import type { ReadRequest } from '../../../src/chain/reads.ts'
import { type Hour, hourAfter, hourAt } from '../../../src/model/hour.ts'
import { faultOf } from '../support/readers.ts'
import { headerOf, listedChain, type ScriptedChain } from '../support/scripted-chain.ts'
import { syntheticArchive, syntheticValue } from '../support/synthetic-archive.ts'
import { MemoryFinalBlocks } from '../support/synthetic-final-blocks.ts'
import { openSyntheticReader, SyntheticScene } from '../support/synthetic-reader.ts'

/** A live hour, counted at the node: how its look-up and its reads meet. */

const patient = new AbortController().signal
const hour = hourAt(1_700_002_800_000)
const read: ReadRequest = { kind: 'call', to: `0x${'c0'.repeat(20)}`, input: '0x07' }

/** Slots of 12 s whose last one before a full hour is stamped 1 s before it; some may be missed. */
function slots(missed: readonly number[] = [], fork?: number) {
  const first = hour / 1_000 - 1 - 12 * 900
  const all = Array.from({ length: 1_000 }, (_, index) => first + 12 * index)
  return listedChain(
    all.filter(seconds => !missed.includes(seconds - hour / 1_000)),
    fork,
  )
}

/** A chain that a reorg can put another one in the place of. */
function switchable(first: ScriptedChain) {
  let current = first
  const chain: ScriptedChain = {
    head: first.head,
    timestampOf: number => current.timestampOf(number),
    asOf: seconds => current.asOf(seconds),
    header: number => current.header(number),
  }
  const become = (next: ScriptedChain) => {
    current = next
  }
  return { chain, become }
}

async function stage(missed: readonly number[] = []) {
  const { chain, become } = switchable(slots(missed))
  const scene = await SyntheticScene.start(syntheticArchive(chain))
  onTestFinished(() => scene[Symbol.asyncDispose]())
  const reader = scene.reader(new MemoryFinalBlocks())
  // So that the chain's pace is known.
  scene.followClock(hour - 60_000)
  await reader.block(hourAfter(hour, -2), patient)
  await reader.block(hourAfter(hour, -1), patient)
  return { scene, reader, become }
}

const requestsOf = async (work: () => Promise<unknown>, { archive }: SyntheticScene) => {
  const before = archive.counts.requests
  await work()
  return archive.counts.requests - before
}

async function valueAt(scene: SyntheticScene, of: Hour): Promise<string> {
  return syntheticValue('0x07', scene.archive.chain.asOf(of / 1_000))
}

describe('a live hour', () => {
  it('takes two requests, reads included, asked for when the block past it is there', async () => {
    const { scene, reader } = await stage()
    scene.followClock(hour + 14_000)
    const requests = await requestsOf(async () => {
      const { at, value } = await reader.read(hour, [read], patient)
      expect(value).toEqual([{ kind: 'returned', output: await valueAt(scene, hour) }])
      expect(at.timestampSeconds).toBe(hour / 1_000 - 1)
    }, scene)
    expect(requests).toBe(2)
    expect(scene.archive.counts.callsByMethod.get('eth_call')).toBe(1)
  })

  it('waits for that block when it is asked for at once, rather than asking in vain', async () => {
    const { scene, reader } = await stage()
    scene.followClock(hour)
    expect(await requestsOf(() => reader.read(hour, [read], patient), scene)).toBe(2)
    expect(scene.clock.time.nowMs()).toBe(hour + 13_000)
  })

  it('takes two requests also when the slot after it is missed', async () => {
    const { scene, reader } = await stage([11])
    scene.followClock(hour)
    const requests = await requestsOf(async () => {
      const { value } = await reader.read(hour, [read], patient)
      expect(value).toEqual([{ kind: 'returned', output: await valueAt(scene, hour) }])
    }, scene)
    expect(requests).toBe(2)
    expect(scene.archive.counts.callsByMethod.get('eth_call')).toBe(1)
  })

  it('is left to a later try when the chain has stopped, or the wait would be too long', async () => {
    const { scene, reader } = await stage([-1, 11, 23, 35, 47, 59, 71, 83])
    scene.followClock(hour + 5_000)
    expect((await faultOf(reader.block(hour, patient))).code).toBe('chain-behind')
    const hasty = openSyntheticReader(scene.url, scene.clock.time, new MemoryFinalBlocks(), { patienceMs: 1_000 })
    onTestFinished(() => hasty.close())
    scene.followClock(hour - 60_000)
    await hasty.block(hourAfter(hour, -1), patient)
    scene.followClock(hour)
    expect((await faultOf(hasty.block(hour, patient))).code).toBe('chain-behind')
    expect(scene.clock.time.nowMs()).toBe(hour)
  })

  it('is read at the right block when a reorg takes the one that was tried', async () => {
    const { scene, reader, become } = await stage()
    const other = slots([-1], 890)
    scene.followClock(hour + 14_000)
    const follow = scene.archive.beforeAnswer
    let answered = 0
    scene.archive.beforeAnswer = () => {
      answered += 1
      // Between the last block's header and the question for its parent.
      if (answered === 2) become(other)
      follow?.()
    }
    const outcome = await reader.read(hour, [read], patient).catch(() => reader.read(hour, [read], patient))
    expect(outcome.at.hash).toBe(headerOf(other, other.asOf(hour / 1_000)).hash)
    expect(outcome.value).toEqual([{ kind: 'returned', output: syntheticValue('0x07', Number(outcome.at.number)) }])
  })

  it('that was looked up before its block was final is looked up again afterwards', async () => {
    const { scene, become } = await stage()
    const reader = openSyntheticReader(scene.url, scene.clock.time, new MemoryFinalBlocks(), { settleMs: 60_000 })
    onTestFinished(() => reader.close())
    const other = slots([-1], 890)
    scene.followClock(hour + 14_000)
    const { hash } = await reader.block(hour, patient)
    become(other)
    expect((await reader.block(hour, patient)).hash).toBe(hash)
    scene.followClock(hour + 60_000)
    const final = headerOf(other, other.asOf(hour / 1_000)).hash
    expect((await reader.block(hour, patient)).hash).toBe(final)
    const { at } = await reader.logs(hour, { address: `0x${'c0'.repeat(20)}`, topics: [] }, patient)
    expect(at.hash).toBe(final)
  })

  it('that is checked again is searched again, whatever is remembered of it', async () => {
    const { scene, reader, become } = await stage()
    const other = slots([-1], 890)
    scene.followClock(hour + 14_000)
    const { hash } = await reader.block(hour, patient)
    become(other)
    expect((await reader.block(hour, patient)).hash).toBe(hash)
    expect((await reader.recheck(hour, patient)).hash).toBe(headerOf(other, other.asOf(hour / 1_000)).hash)
  })
})
