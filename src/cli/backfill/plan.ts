import type { AppContext } from '../../app/context.ts'
import { openChains } from '../../app/open-chains.ts'
import { openHourReader } from '../../app/open-runner.ts'
import { CallMeter } from '../../chain/endpoint/call-meter.ts'
import type { ChainConfig } from '../../config/config.ts'
import { destinationsOf } from '../../delivery/destination.ts'
import { type HourOrder, hoursOf, type Work, windowsOf } from '../../intake/backfill/work.ts'
import { noPasts } from '../../intake/validate.ts'
import type { Hour } from '../../model/hour.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import { type Cost, chainWindows, pushesOf, scaledCost, sumOf } from './cost.ts'
import {
  blocksOf,
  chainsOf,
  hoursInstead,
  metricsAnHour,
  outerHours,
  possibleWorks,
  type SampledRun,
  type SampledRuns,
  takeSample,
} from './sample.ts'

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
export interface PlannedWork extends Work {
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
