import type { AppContext } from '../../app/context.ts'
import { openChains } from '../../app/open-chains.ts'
import { openPipeline } from '../../app/open-runner.ts'
import { type CallCounts, CallMeter } from '../../chain/endpoint/call-meter.ts'
import type { ChainConfig } from '../../config/config.ts'
import { destinationsOf } from '../../delivery/destination.ts'
import { firstHour, type HourOrder, hoursInOrder, hoursOf, type Work, windowsOf } from '../../intake/backfill/work.ts'
import { isDerived } from '../../intake/derived/derived-values.ts'
import { noPasts } from '../../intake/validate.ts'
import type { PinnedBlock } from '../../model/block.ts'
import type { Fault, FaultCode } from '../../model/fault.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import { batchMetricsMax } from '../../model/limits.ts'
import { readingOnly } from '../../model/list-memory.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'

/** The work of a backfill and its estimated cost. */
export interface BackfillPlan {
  readonly works: readonly PlannedWork[]
  /** Distinct hours to read. */
  readonly hours: number
  /** Cost of all chains. */
  readonly cost: CallCounts
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
  readonly spentCalls: CallCounts
}

/** The work of one collector, with its estimate. */
interface PlannedWork extends Work {
  /** Metrics of all its hours. */
  readonly metrics: number
}

/** Works in the windows in which they are read. */
interface WorksInWindows {
  readonly works: readonly Work[]
  readonly order: HourOrder
  /** Hours read concurrently: those of a window. */
  readonly concurrency: number
}

/** Number of samples of other hours, in place of those that could not be read. */
const samplesMax = 3

/**
 * Plans from a sample of two hours. Stores nothing and sends nothing to the service.
 *
 * @param outbox absent when there is none yet
 */
export async function makePlan(
  context: AppContext,
  outbox: Pick<Outbox, 'intake' | 'operators' | 'lists'> | undefined,
  { works: allWorks, order, concurrency }: WorksInWindows,
): Promise<BackfillPlan> {
  // A derived value costs no call, and its inputs are not there before the backfill.
  const derivedWorks = allWorks.filter(({ collector }) => isDerived(collector))
  const read = allWorks.filter(({ collector }) => !isDerived(collector))
  const sampled = await sampleOf(context, outbox, read, outerHours(read), samplesMax)
  const { works, runs, ms, faults, spentCalls } = sampled
  const costs = context.config.chains.map(chain => chainCost({ works, order, concurrency }, sampled, chain))
  const plannedWorks = [...works, ...derivedWorks].map(work => ({
    ...work,
    metrics: work.hours.length * metricsAnHour(runs, work),
  }))
  const pushes = await plannedPushes(context, outbox, plannedWorks)
  const windows = windowsOf(works, concurrency, order).length
  const pacedMs = (1000 * pushes) / context.config.delivery.pacePerSecond
  const hoursRead = ascending(runs.filter(({ fault }) => !fault).map(({ hour }) => hour))
  const isKnown = hoursRead.length > 0 || hoursOf(works) === 0
  return {
    works: plannedWorks,
    hours: hoursOf(plannedWorks),
    cost: sumOf(costs),
    pushes,
    durationMs: Math.max(windows * ms, pacedMs),
    certainty: isKnown ? 'about' : 'unknown',
    faults,
    hoursRead,
    spentCalls,
  }
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

/** The last sample, which the plan is based on. */
interface Sampled {
  /** Without hours that the sample showed to be impossible. */
  readonly works: readonly Work[]
  readonly runs: readonly SampledRun[]
  /** Duration of the sample, in milliseconds. */
  readonly ms: number
  /** Runs that failed, of all samples. */
  readonly faults: readonly SampledRun[]
  /** Cost of the last sample for one chain. */
  readonly costOf: (chain: string) => CallCounts
  /** Cost of all samples for all chains. */
  readonly spentCalls: CallCounts
}

/** Samples; other hours when a chain could not be read at some. Each sample opens its chains again, as a run does. */
async function sampleOf(
  context: AppContext,
  outbox: Pick<Outbox, 'intake' | 'lists'> | undefined,
  works: readonly Work[],
  hours: ReadonlySet<Hour>,
  triesLeft: number,
): Promise<Sampled> {
  const { config, time } = context
  const meters = new Map(config.chains.map(({ name }) => [name, new CallMeter()]))
  await using stack = new AsyncDisposableStack()
  const chains = openChains(context, stack, { meterOf: chain => meters.get(chain) })
  const pipeline = openPipeline(context, chains, stack, outbox && readingOnly(outbox.lists))
  const startMs = time.nowMs()
  const sampleHours = works.flatMap(work =>
    work.hours.filter(hour => hours.has(hour)).map(hour => ({ ...work, work, hour, attempts: 0 })),
  )
  const results = await pipeline.read(sampleHours, outbox?.intake ?? noPasts)
  const runs = results.map(({ work, hour, result: { acceptedValues, pins, fault } }): SampledRun => {
    return { work, hour, metrics: acceptedValues.length, pins, ...(fault && { fault }) }
  })
  const ms = time.nowMs() - startMs
  const firstCalls = sumOf([...meters.values()].map(meter => meter.counts()))
  const faults = runs.filter(({ fault }) => fault)
  const worksLeft = possibleWorks(works, runs)
  const instead = hoursInstead(worksLeft, runs)
  if (instead.size > 0 && triesLeft > 1) {
    const again = await sampleOf(context, outbox, worksLeft, instead, triesLeft - 1)
    return { ...again, faults: [...faults, ...again.faults], spentCalls: sumOf([firstCalls, again.spentCalls]) }
  }
  return {
    works: worksLeft,
    runs,
    ms,
    faults,
    costOf: chain => meters.get(chain)?.counts() ?? nothing,
    spentCalls: firstCalls,
  }
}

const nothing: CallCounts = { requests: 0, calls: {} }

/** Sent to each endpoint when it is first used, whatever the number of hours. */
const onceMethod = 'eth_chainId'

/**
 * Estimates a chain's cost for all windows from the sample: as many requests for each window, as many calls for each hour. The
 * cost of hours that could not be read says nothing about others.
 */
function chainCost(
  { works, concurrency, order }: WorksInWindows,
  sample: Sampled,
  { name, id }: ChainConfig,
): CallCounts {
  const ofChain = sample.runs.filter(({ pins }) => pins.some(({ chainId }) => chainId === id))
  const sampledHours = new Set(ofChain.map(({ hour }) => hour)).size
  if (sampledHours === 0) return nothing
  const readers = new Set(ofChain.map(({ work }) => work.collector))
  const windows = windowsOf(works, concurrency, order)
    .map(shares => ascending(shares.flatMap(({ work, hours }) => (readers.has(work.collector) ? hours : []))))
    .filter(({ length }) => length > 0)
  const hours = windows.reduce((sum, { length }) => sum + length, 0)
  const { requests, calls } = sample.costOf(name)
  const scaledCalls = Object.entries(calls).map(([method, count]) => {
    return [method, method === onceMethod ? count : Math.ceil((count * hours) / sampledHours)]
  })
  return { requests: requests * windows.length, calls: Object.fromEntries(scaledCalls) }
}

/** Distinct hours, the oldest first. */
function ascending(hours: readonly Hour[]): Hour[] {
  return [...new Set(hours)].sort((one, other) => one - other)
}

/** Pushes for metrics due already and for those to come; all but the last of a destination are full. */
async function plannedPushes(
  { config }: AppContext,
  outbox: Pick<Outbox, 'operators'> | undefined,
  works: readonly PlannedWork[],
): Promise<number> {
  const byProtocol = (await outbox?.operators.backlog())?.byProtocol
  const noKey = () => ''
  return destinationsOf(config, noKey, noKey).reduce((pushes, { protocols }) => {
    const ids = protocols.map(({ id }) => id)
    const due = ids.reduce((sum, id) => sum + (byProtocol?.get(id)?.due ?? 0), 0)
    const own = works.filter(({ collector }) => ids.includes(collector.protocolId))
    return pushes + Math.ceil(own.reduce((sum, { metrics }) => sum + metrics, due) / batchMetricsMax)
  }, 0)
}

/** The sum of some costs. */
function sumOf(costs: readonly CallCounts[]): CallCounts {
  const calls: Record<string, number> = {}
  for (const [method, count] of costs.flatMap(cost => Object.entries(cost.calls))) {
    calls[method] = (calls[method] ?? 0) + count
  }
  return { requests: costs.reduce((sum, { requests }) => sum + requests, 0), calls }
}

/** Number of calls of all methods. */
export function callsIn({ calls }: Pick<CallCounts, 'calls'>): number {
  return Object.values(calls).reduce((sum, count) => sum + count, 0)
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
 * The hours to read instead when a chain could not be read at some: the others, and their neighbours. Empty when there is
 * nothing to replace, or nothing was read.
 *
 * @param works the work left, as the sample shows
 */
function hoursInstead(works: readonly Work[], runs: readonly SampledRun[]): ReadonlySet<Hour> {
  const failedHours = new Set(runs.filter(({ fault }) => fault && unreadable.has(fault.code)).map(({ hour }) => hour))
  if (failedHours.size === 0) return new Set()
  const outer = outerHours(works)
  const readableHours = [...outer].filter(hour => !failedHours.has(hour))
  if (readableHours.length !== 1 || outer.size === 1) return new Set(readableHours)
  const hours = hoursInOrder(works, 'oldest-first')
  const index = hours.indexOf(readableHours[0] ?? hourAt(0))
  return new Set(
    [hours[index - 1], hours[index], hours[index + 1]].filter(hour => hour && !failedHours.has(hour)) as Hour[],
  )
}

/** Removes hours before the first block of a chain that a work reads: they are impossible. */
function possibleWorks(works: readonly Work[], runs: readonly SampledRun[]): Work[] {
  return works.map(work => {
    const own = runs.filter(run => run.work.collector === work.collector)
    const first = Math.max(0, ...own.flatMap(({ fault, hour }) => (fault && firstHour(fault, hour)) ?? []))
    const hours = work.hours.filter(hour => hour >= first)
    return { ...work, hours, impossible: work.impossible + work.hours.length - hours.length }
  })
}

/** Metrics in one hour of a work: as sampled, else as declared; 0 when nothing of it could be read. */
function metricsAnHour(runs: readonly SampledRun[], { collector, description }: Work): number {
  const own = runs.filter(({ work }) => work.collector === collector)
  if (own.length === 0) return Object.keys(description.metrics).length
  return own.find(({ fault }) => !fault)?.metrics ?? Math.max(...own.map(({ metrics }) => metrics))
}
