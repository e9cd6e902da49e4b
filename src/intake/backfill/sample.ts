import type { AsOfBlock, Pin } from '../../model/block.ts'
import { Fault } from '../../model/fault.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import type { Runner } from '../../runner/runner.ts'
import type { Time } from '../../time.ts'
import { asFault } from '../collect.ts'
import type { Stored } from './past.ts'
import { readHour } from './read.ts'
import type { Work } from './work.ts'

/** What one collector came to for one sampled hour. */
export interface SampledRun {
  readonly work: Work
  readonly hour: Hour
  readonly metrics: number
  /** The blocks it read. */
  readonly pins: readonly Pin[]
  readonly fault?: Fault
}

/** Some hours that were read to see what the others will take. */
export interface Sample {
  readonly runs: readonly SampledRun[]
  readonly ms: number
}

/** What a sample is taken with. */
export interface SampleParts {
  readonly runner: Pick<Runner, 'collect'>
  /** What is known of metrics; absent where there is no outbox yet. */
  readonly stored: Stored | undefined
  readonly time: Time
}

/** Reads the oldest and the newest hour of all works together; stores nothing. */
export async function takeSample(works: readonly Work[], { runner, stored, time }: SampleParts): Promise<Sample> {
  const startMs = time.nowMs()
  const hours = works.flatMap(work => work.hours)
  const outer = new Set([hours.reduce(least, Number.POSITIVE_INFINITY), hours.reduce(most, 0)])
  const wanted = works.flatMap(work => work.hours.filter(hour => outer.has(hour)).map(hour => ({ work, hour })))
  const runs = await Promise.all(
    wanted.map(async ({ work, hour }): Promise<SampledRun> => {
      const outcome = await runner.collect(work.collector, hour).catch((error: unknown) => asFault(error))
      const pastOf: Stored['past'] = (id, at) => stored?.past(id, at)
      const { accepted, fault } = readHour(work, hour, outcome, pastOf, hourAt(time.nowMs()))
      const pins = outcome instanceof Fault ? [] : outcome.pins
      return { work, hour, metrics: accepted.length, pins, ...(fault && { fault }) }
    }),
  )
  return { runs, ms: time.nowMs() - startMs }
}

const least = (one: number, other: number) => Math.min(one, other)
const most = (one: number, other: number) => Math.max(one, other)

/** Metrics of one hour of a work: as sampled, else as declared. */
export function metricsAnHour({ runs }: Sample, { collector, description }: Work): number {
  const own = runs.filter(({ work, fault }) => work.collector === collector && !fault)
  return own[0]?.metrics ?? Object.keys(description.metrics).length
}

/** Ids of the chains that a work reads, as sampled. */
export function chainsOf({ runs }: Sample, { collector }: Work): ReadonlySet<number> {
  return new Set(
    runs.filter(({ work }) => work.collector === collector).flatMap(({ pins }) => pins.map(({ chainId }) => chainId)),
  )
}

/** The as-of blocks of a chain that were met, by hour, ascending. */
export function blocksOf({ runs }: Sample, chainId: number): ReadonlyMap<Hour, AsOfBlock> {
  const met = runs.flatMap(({ hour, pins }) =>
    pins.filter(pin => pin.chainId === chainId).map(({ block }) => [hour, block] as const),
  )
  return new Map(met.sort(([one], [other]) => one - other))
}
