import { describe, expect, it, onTestFinished } from 'vitest'
import { hourAfter, hourAt } from '../../../src/model/hour.ts'
import { syntheticArchive } from '../support/synthetic-archive.ts'
import { haltSeconds, type SyntheticKind, syntheticKinds } from '../support/synthetic-kinds.ts'
import { coldBackfill, live } from '../support/synthetic-looked-up.ts'
import { randomPlaces, SyntheticScene } from '../support/synthetic-reader.ts'

/** Cost of look-ups on archives of 20 million blocks, counted at the node; `bench:chain` measures more of it. */

const hours = 100

async function sceneOf(kind: SyntheticKind): Promise<SyntheticScene> {
  const scene = await SyntheticScene.start(syntheticArchive(syntheticKinds[kind]()))
  onTestFinished(() => scene[Symbol.asyncDispose]())
  return scene
}

/** The middle of three places whose cost may differ a little. */
const fixedSeed = 11
const middle = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[1]

describe('the as-of blocks of 100 consecutive hours, by a reader that knows nothing,', () => {
  it.each([
    ['slots', 0.05, 5],
    ['bumpy', 0.1, 8],
    ['random', 0.1, 8],
    ['fast', 0.25, 16],
    ['uneven', 0.25, 16],
  ] as const)('are exact on the %s chain, at %f round trips and %f calls an hour', async (kind, roundTrips, calls) => {
    const scene = await sceneOf(kind)
    const found = []
    for (const from of randomPlaces(scene.archive, 3, hours, fixedSeed))
      found.push(await coldBackfill(scene, from, hours))
    expect(found.map(({ wrong }) => wrong)).toEqual([0, 0, 0])
    expect(middle(found.map(one => one.roundTripsAnHour))).toBeLessThanOrEqual(roundTrips)
    expect(middle(found.map(one => one.callsAnHour))).toBeLessThanOrEqual(calls)
  })

  it('are exact across a halt of hours', async () => {
    const scene = await sceneOf('bumpy')
    const from = hourAfter(hourAt(haltSeconds * 1_000), -hours / 2)
    expect(await coldBackfill(scene, from, hours)).toMatchObject({ wrong: 0 })
  })

  it('are exact at any place of any chain', async () => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    for (const kind of ['slots', 'uneven'] as const) {
      const scene = await sceneOf(kind)
      for (const from of randomPlaces(scene.archive, 4, 30, seed)) {
        expect((await coldBackfill(scene, from, 30)).wrong, `on ${kind}, seed ${seed}`).toBe(0)
      }
    }
  })
})

describe('live, hour after hour on 12 s slots,', () => {
  it.each(['past-the-hour', 'at-the-hour'] as const)('asked %s, 2 round trips and 4 calls are enough', async asking => {
    const scene = await sceneOf('slots')
    const [from] = randomPlaces(scene.archive, 1, hours, fixedSeed)
    if (from === undefined) throw new Error('there is no place')
    const found = await live(scene, from, hours, asking)
    expect(found.wrong).toBe(0)
    expect(found.roundTripsAnHour).toBeLessThanOrEqual(2.05)
    expect(found.callsAnHour).toBeLessThanOrEqual(4)
  })
})
