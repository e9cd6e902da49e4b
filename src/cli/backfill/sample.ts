import type { Time } from '../../edge/time.ts'
import { firstHour, hoursInOrder, type Work } from '../../intake/backfill/work.ts'
import type { HourReader } from '../../intake/hour-reader.ts'
import type { PastStore } from '../../intake/validate.ts'
import type { AsOfBlock, PinnedBlock } from '../../model/block.ts'
import type { Fault, FaultCode } from '../../model/fault.ts'
import { type Hour, hourAt } from '../../model/hour.ts'

/** Result of one collector for one sampled hour. */
export interface SampledRun {
  readonly work: Work
  readonly hour: Hour
  /** Metrics with a value. */
  readonly metrics: number
  /** The blocks it read. */
  readonly pins: readonly PinnedBlock[]
  /** Why it is not complete; absent when it is. */
  readonly fault?: Fault
}

/** Hours read to estimate the cost of the others. */
export interface SampledRuns {
  readonly runs: readonly SampledRun[]
  /** Duration of the sample, in milliseconds. */
  readonly ms: number
}

/** Dependencies of `takeSample`. */
export interface SampleDeps {
  readonly reader: HourReader
  readonly pasts: PastStore
  readonly time: Time
}

/** Reads some hours of all works together; stores nothing. */
export async function takeSample(
  works: readonly Work[],
  hours: ReadonlySet<Hour>,
  { reader, pasts, time }: SampleDeps,
): Promise<SampledRuns> {
  const startMs = time.nowMs()
  const wanted = works.flatMap(work =>
    work.hours.filter(hour => hours.has(hour)).map(hour => ({ ...work, work, hour })),
  )
  const results = await reader.collectTogether(wanted, pasts)
  const runs = results.flatMap(({ accepted, pins, fault }, place): SampledRun[] => {
    const { work, hour } = wanted[place] ?? {}
    return work && hour !== undefined ? [{ work, hour, metrics: accepted.length, pins, ...(fault && { fault }) }] : []
  })
  return { runs, ms: time.nowMs() - startMs }
}

/** The oldest and the newest hour. */
export function outerHours(works: readonly Work[]): ReadonlySet<Hour> {
  const hours = hoursInOrder(works, 'oldest-first')
  return new Set([...hours.slice(0, 1), ...hours.slice(-1)])
}

/** Faults that mean a chain could not be read at an hour at all; a reverted call is not one. */
const unreadable: ReadonlySet<FaultCode> = new Set([
  'chain-unreachable',
  'chain-behind',
  'chain-reorganized',
  'chain-state-missing',
  'chain-before-first-block',
])

/**
 * The hours to read instead when a chain could not be read at some: the others, and their neighbours. `undefined` when
 * there is nothing to replace; empty when nothing was read.
 *
 * @param works the work left, as the sample shows
 */
export function hoursInstead(works: readonly Work[], { runs }: SampledRuns): ReadonlySet<Hour> | undefined {
  const failed = new Set(runs.filter(isUnreadable).map(({ hour }) => hour))
  if (failed.size === 0) return undefined
  const outer = outerHours(works)
  const good = [...outer].filter(hour => !failed.has(hour))
  if (good.length !== 1 || outer.size === 1) return new Set(good)
  const hours = hoursInOrder(works, 'oldest-first')
  const index = hours.indexOf(good[0] ?? hourAt(0))
  return new Set([hours[index - 1], hours[index], hours[index + 1]].filter(hour => hour && !failed.has(hour)) as Hour[])
}

function isUnreadable({ fault }: SampledRun): boolean {
  return fault !== undefined && unreadable.has(fault.code)
}

/** Removes hours before the first block of a chain that a work reads: they are impossible. */
export function possibleWorks(works: readonly Work[], { runs }: SampledRuns): Work[] {
  return works.map(work => {
    const own = runs.filter(run => run.work.collector === work.collector)
    const first = Math.max(0, ...own.flatMap(({ fault }) => (fault && firstHour(fault)) ?? []))
    const hours = work.hours.filter(hour => hour >= first)
    return { ...work, hours, impossible: work.impossible + work.hours.length - hours.length }
  })
}

/** Metrics in one hour of a work: as sampled, else as declared; 0 when nothing of it could be read. */
export function metricsAnHour({ runs }: SampledRuns, { collector, description }: Work): number {
  const own = runs.filter(({ work }) => work.collector === collector)
  if (own.length === 0) return Object.keys(description.metrics).length
  return own.find(({ fault }) => !fault)?.metrics ?? Math.max(...own.map(({ metrics }) => metrics))
}

/** Ids of the chains that a work reads, as sampled. */
export function chainsOf({ runs }: SampledRuns, { collector }: Work): ReadonlySet<number> {
  return new Set(
    runs.filter(({ work }) => work.collector === collector).flatMap(({ pins }) => pins.map(({ chainId }) => chainId)),
  )
}

/** The as-of blocks of a chain in the sample, by hour, ascending. */
export function blocksOf({ runs }: SampledRuns, chainId: number): ReadonlyMap<Hour, AsOfBlock> {
  const met = runs.flatMap(({ hour, pins }) =>
    pins.filter(pin => pin.chainId === chainId).map(({ block }) => [hour, block] as const),
  )
  return new Map(met.sort(([one], [other]) => one - other))
}
