import type { AsOfBlock } from '../../../src/model/block.ts'
import { Fault } from '../../../src/model/fault.ts'
import { type Hour, hourAfter, hoursFrom } from '../../../src/model/hour.ts'
import { forgetCounts } from './synthetic-archive.ts'
import { MemoryFinalBlocks } from './synthetic-final-blocks.ts'
import { type SyntheticScene, wrongOnes } from './synthetic-reader.ts'

/** Cost of looking up the as-of blocks of some hours, counted at the node. */
export interface LookedUp {
  readonly roundTripsAnHour: number
  readonly callsAnHour: number
  /** Hours answered with another block than the right one. */
  readonly wrong: number
}

/** Finds blocks of hours somehow: numbers in the order of the hours. */
export type LookUp = (hours: readonly Hour[]) => Promise<readonly (bigint | number | undefined)[]>

/** Looks up and counts. */
export async function counted(scene: SyntheticScene, hours: readonly Hour[], lookUp: LookUp): Promise<LookedUp> {
  const { archive } = scene
  forgetCounts(archive)
  const numbers = await lookUp(hours)
  return {
    roundTripsAnHour: archive.counts.requests / hours.length,
    callsAnHour: archive.counts.calls / hours.length,
    wrong: wrongOnes(archive, hours, numbers),
  }
}

const patient = new AbortController().signal

/** Consecutive hours asked for in one turn of a reader that knows nothing, as a backfill does. */
export function coldBackfill(scene: SyntheticScene, from: Hour, count: number): Promise<LookedUp> {
  scene.setHead(Number(scene.archive.chain.head))
  const reader = scene.reader(new MemoryFinalBlocks())
  return counted(scene, hoursFrom(from, hourAfter(from, count - 1)), async hours => {
    return (await Promise.all(hours.map(hour => reader.block(hour, patient)))).map(({ number }) => number)
  })
}

/** Asks until the chain has a block past the hour, two seconds after each answer that it has none, as intake does. */
async function untilFound({ clock }: SyntheticScene, ask: () => Promise<AsOfBlock>): Promise<bigint> {
  for (;;) {
    try {
      return (await ask()).number
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'chain-behind') throw error
      await clock.time.sleep(2_000)
    }
  }
}

/** Whether hours are asked for at the full hour, before a block proves them, or once the chain has one past them. */
export type Asking = 'at-the-hour' | 'past-the-hour'

/** One hour after the other as it passes, by a reader that has seen some before. */
export async function live(scene: SyntheticScene, from: Hour, count: number, asking: Asking): Promise<LookedUp> {
  const { chain } = scene.archive
  const reader = scene.reader(new MemoryFinalBlocks())
  const lookUp: LookUp = async hours => {
    const numbers: bigint[] = []
    for (const hour of hours) {
      if (asking === 'at-the-hour') scene.followClock(hour)
      else scene.setHead(chain.asOf(hour / 1_000) + 1, (hour / 3_600_000) % 5)
      numbers.push(await untilFound(scene, () => reader.block(hour, patient)))
    }
    return numbers
  }
  await lookUp([hourAfter(from, -2), hourAfter(from, -1)])
  return counted(scene, hoursFrom(from, hourAfter(from, count - 1)), lookUp)
}
