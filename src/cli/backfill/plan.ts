import type { AppContext } from '../../app/context.ts'
import { openChains } from '../../app/open-chains.ts'
import { openHourReader } from '../../app/open-runner.ts'
import { CallMeter } from '../../chain/endpoint/call-meter.ts'
import type { ChainConfig } from '../../config/config.ts'
import { destinationsOf } from '../../delivery/destination.ts'
import type { Time } from '../../edge/time.ts'
import { firstHour, type HourOrder, hoursInOrder, hoursOf, type Work, windowsOf } from '../../intake/backfill/work.ts'
import type { HourReader } from '../../intake/hour-reader.ts'
import { noPasts, type PastStore } from '../../intake/validate.ts'
import type { AsOfBlock, PinnedBlock } from '../../model/block.ts'
import type { Fault, FaultCode } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import { hourAt } from '../../model/hour.ts'
import { batchMetricsMax } from '../../model/limits.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'

/** The work of a backfill and its estimated cost. */
export interface BackfillPlan {
  readonly works: readonly PlannedWork[]
  /** Distinct hours to read. */
  readonly hours: number
  /** Cost of all chains. */
  readonly cost: Cost
  /** Pushes that the metrics need, about. */
  readonly pushes: number
  /** Estimated duration, in milliseconds. */
  readonly durationMs: number
  /** `about`: estimated from the sampled hours; `unknown`: no hour could be read, so there is no cost. */
  readonly certainty: 'about' | 'unknown'
  /** Sampled runs that failed. */
  readonly faults: readonly SampledRun[]
  /** Sampled hours. */
  readonly hoursRead: readonly Hour[]
  /** Cost of sampling, repeated samples included. */
  readonly spent: Cost
}

/** The work of one collector, with its estimate. */
interface PlannedWork extends Work {
  /** Metrics of all its hours. */
  readonly metrics: number
}

/** Dependencies of `makePlan`. */
export interface PlanDeps {
  readonly context: AppContext
  /** Absent when there is none yet. */
  readonly outbox: Pick<Outbox, 'intake' | 'operators'> | undefined
  readonly works: readonly Work[]
  readonly order: HourOrder
  /** Hours read concurrently. */
  readonly concurrency: number
}

/** Number of samples of other hours, in place of those that could not be read. */
const samplesMax = 3

interface Sampled {
  /** Without hours that the sample showed to be impossible. */
  readonly works: readonly Work[]
  /** The last sample, which the plan is based on. */
  readonly sample: SampledRuns
  readonly faults: readonly SampledRun[]
  /** Cost of the last sample for one chain. */
  readonly costOf: (chain: string) => Cost
  /** Cost of all samples for all chains. */
  readonly spent: Cost
}

/** Plans from a sample of two hours. Stores nothing and sends nothing to the service. */
export async function makePlan(deps: PlanDeps): Promise<BackfillPlan> {
  const { context, order, concurrency } = deps
  const sampled = await sampleOf(deps, deps.works, outerHours(deps.works), samplesMax)
  const { works, sample, faults, spent } = sampled
  const costs = context.config.chains.map(chain => chainCost(deps, sampled, chain))
  const planned = works.map(work => ({ ...work, metrics: work.hours.length * metricsAnHour(sample, work) }))
  const pushes = await plannedPushes(deps, planned)
  const windows = windowsOf(works, concurrency, order).length
  const pacedMs = (1000 * pushes) / context.config.delivery.pacePerSecond
  const hoursRead = [...new Set(sample.runs.filter(({ fault }) => !fault).map(({ hour }) => hour))].sort(
    (a, b) => a - b,
  )
  const isKnown = hoursRead.length > 0 || hoursOf(works) === 0
  return {
    works: planned,
    hours: hoursOf(works),
    cost: sumOf(costs),
    pushes,
    durationMs: Math.max(windows * sample.ms, pacedMs),
    certainty: isKnown ? 'about' : 'unknown',
    faults,
    hoursRead,
    spent,
  }
}

/** Samples; other hours when a chain could not be read at some. Each sample opens its chains again, as a run does. */
async function sampleOf(
  deps: PlanDeps,
  works: readonly Work[],
  hours: ReadonlySet<Hour>,
  triesLeft: number,
): Promise<Sampled> {
  const { context, outbox } = deps
  const meters = new Map(context.config.chains.map(({ name }) => [name, new CallMeter()]))
  await using stack = new AsyncDisposableStack()
  const chains = openChains(context, stack, { meterOf: chain => meters.get(chain) })
  const reader = openHourReader(context, chains, stack)
  const sample = await takeSample(works, hours, { reader, pasts: outbox?.intake ?? noPasts, time: context.time })
  const spent = sumOf([...meters.values()].map(meter => meter.counts()))
  const faults = sample.runs.filter(({ fault }) => fault)
  const possible = possibleWorks(works, sample)
  const instead = hoursInstead(possible, sample)
  if (instead && instead.size > 0 && triesLeft > 1) {
    const again = await sampleOf(deps, possible, instead, triesLeft - 1)
    return { ...again, faults: [...faults, ...again.faults], spent: sumOf([spent, again.spent]) }
  }
  return {
    works: possible,
    sample,
    faults,
    costOf: chain => meters.get(chain)?.counts() ?? nothing,
    spent,
  }
}

const nothing: Cost = { requests: 0, calls: {} }

function chainCost({ order, concurrency }: PlanDeps, sampled: Sampled, { name, id }: ChainConfig): Cost {
  const { works, sample, costOf } = sampled
  const hours = blocksOf(sample, id).size
  // The cost of hours that could not be read says nothing about others.
  if (hours === 0) return nothing
  const windows = chainWindows(works, concurrency, order, work => chainsOf(sample, work).has(id))
  return scaledCost(costOf(name), hours, windows)
}

/** Pushes for metrics due already and for those to come. */
async function plannedPushes({ context, outbox }: PlanDeps, works: readonly PlannedWork[]): Promise<number> {
  const { config } = context
  const byProtocol = (await outbox?.operators.backlog())?.byProtocol
  const destinations = destinationsOf(
    config,
    () => '',
    () => '',
  )
  const counts = destinations.map(({ protocols }) => {
    const ids = protocols.map(({ id }) => id)
    const due = ids.reduce((sum, id) => sum + (byProtocol?.get(id)?.due ?? 0), 0)
    const own = works.filter(({ collector }) => ids.includes(collector.protocolId))
    return pushesOf(own.reduce((sum, { metrics }) => sum + metrics, due))
  })
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Requests and calls to a chain. */
interface Cost {
  /** HTTP requests, or groups of messages over a socket. */
  readonly requests: number
  /** Calls by method. */
  readonly calls: Readonly<Record<string, number>>
}

/** Sent to each endpoint when it is first used, whatever the number of hours. */
const onceMethod = 'eth_chainId'

/**
 * Estimates a chain's cost for all windows of hours from a sample: as many requests for each window, as many calls for
 * each hour.
 *
 * @param sampled cost of `sampledHours`, which were read together
 */
function scaledCost(sampled: Cost, sampledHours: number, windows: readonly (readonly Hour[])[]): Cost {
  const hours = windows.reduce((sum, { length }) => sum + length, 0)
  const calls = Object.entries(sampled.calls).map(([method, count]) => {
    return [method, method === onceMethod ? count : Math.ceil((count * hours) / sampledHours)]
  })
  return { requests: sampled.requests * windows.length, calls: Object.fromEntries(calls) }
}

/** The hours in which a chain is read, by window; windows in which it is not are left out. */
function chainWindows(
  works: readonly Work[],
  size: number,
  order: HourOrder,
  isRead: (work: Work) => boolean,
): Hour[][] {
  return windowsOf(works, size, order)
    .map(shares => {
      const readers = shares.filter(({ work }) =>
        works.some(({ collector }) => collector === work.collector && isRead(work)),
      )
      return [...new Set(readers.flatMap(({ hours }) => hours))].sort((a, b) => a - b)
    })
    .filter(hours => hours.length > 0)
}

/** The sum of some costs. */
function sumOf(costs: readonly Cost[]): Cost {
  const calls: Record<string, number> = {}
  for (const [method, count] of costs.flatMap(cost => Object.entries(cost.calls))) {
    calls[method] = (calls[method] ?? 0) + count
  }
  return { requests: costs.reduce((sum, { requests }) => sum + requests, 0), calls }
}

/** Number of pushes for that many metrics; all but the last are full. */
function pushesOf(metrics: number): number {
  return Math.ceil(metrics / batchMetricsMax)
}

/** Number of calls of all methods. */
export function callsIn({ calls }: Pick<Cost, 'calls'>): number {
  return Object.values(calls).reduce((sum, count) => sum + count, 0)
}

/** Result of one collector for one sampled hour. */
interface SampledRun {
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
interface SampledRuns {
  readonly runs: readonly SampledRun[]
  /** Duration of the sample, in milliseconds. */
  readonly ms: number
}

/** Dependencies of `takeSample`. */
interface SampleDeps {
  readonly reader: HourReader
  readonly pasts: PastStore
  readonly time: Time
}

/** Reads some hours of all works together; stores nothing. */
async function takeSample(
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
function outerHours(works: readonly Work[]): ReadonlySet<Hour> {
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
function hoursInstead(works: readonly Work[], { runs }: SampledRuns): ReadonlySet<Hour> | undefined {
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
function possibleWorks(works: readonly Work[], { runs }: SampledRuns): Work[] {
  return works.map(work => {
    const own = runs.filter(run => run.work.collector === work.collector)
    const first = Math.max(0, ...own.flatMap(({ fault }) => (fault && firstHour(fault)) ?? []))
    const hours = work.hours.filter(hour => hour >= first)
    return { ...work, hours, impossible: work.impossible + work.hours.length - hours.length }
  })
}

/** Metrics in one hour of a work: as sampled, else as declared; 0 when nothing of it could be read. */
function metricsAnHour({ runs }: SampledRuns, { collector, description }: Work): number {
  const own = runs.filter(({ work }) => work.collector === collector)
  if (own.length === 0) return Object.keys(description.metrics).length
  return own.find(({ fault }) => !fault)?.metrics ?? Math.max(...own.map(({ metrics }) => metrics))
}

/** Ids of the chains that a work reads, as sampled. */
function chainsOf({ runs }: SampledRuns, { collector }: Work): ReadonlySet<number> {
  return new Set(
    runs.filter(({ work }) => work.collector === collector).flatMap(({ pins }) => pins.map(({ chainId }) => chainId)),
  )
}

/** The as-of blocks of a chain in the sample, by hour, ascending. */
function blocksOf({ runs }: SampledRuns, chainId: number): ReadonlyMap<Hour, AsOfBlock> {
  const met = runs.flatMap(({ hour, pins }) =>
    pins.filter(pin => pin.chainId === chainId).map(({ block }) => [hour, block] as const),
  )
  return new Map(met.sort(([one], [other]) => one - other))
}
