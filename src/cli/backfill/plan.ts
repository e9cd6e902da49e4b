import { CallMeter } from '../../chain/endpoint/call-meter.ts'
import { destinationsOf } from '../../delivery/destination.ts'
import { type Cost, chainSample, chainWindows, pushesOf, readCost, sumOf } from '../../intake/backfill/cost.ts'
import { blocksOf, chainsOf, metricsAnHour, type Sample, takeSample } from '../../intake/backfill/sample.ts'
import { type HourOrder, hoursOf, type Work, windowsOf } from '../../intake/backfill/work.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import { openChains, runnerOn } from '../../open-runner.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { Surroundings } from '../../surroundings.ts'
import { lookUpCost } from './look-ups.ts'

/** What a backfill would do and take. */
export interface Plan {
  readonly works: readonly PlannedWork[]
  readonly hours: number
  /** Of all chains. */
  readonly cost: Cost
  readonly pushes: number
  readonly durationMs: number
  readonly certainty: 'exact' | 'about'
  readonly sample: Sample
  /** What the sample itself has taken. */
  readonly spent: Cost
}

/** Of one collector. */
export interface PlannedWork extends Work {
  /** Metrics of all its hours. */
  readonly metrics: number
}

/** What a plan is made from. */
export interface PlanParts {
  readonly surroundings: Surroundings
  /** Absent where there is none yet. */
  readonly outbox: Outbox | undefined
  readonly works: readonly Work[]
  readonly order: HourOrder
  readonly concurrency: number
}

/** Remembers which methods travelled together. */
class RecordingMeter extends CallMeter {
  readonly requests: (readonly string[])[] = []

  override request(methods: readonly string[]): void {
    super.request(methods)
    this.requests.push(methods)
  }
}

/** Reads two hours to see what the others take; stores nothing of them, and asks the service nothing. */
export async function makePlan(parts: PlanParts): Promise<Plan> {
  const { surroundings, outbox, works, order, concurrency } = parts
  const meters = new Map(surroundings.config.chains.map(({ name }) => [name, new RecordingMeter()]))
  await using stack = new AsyncDisposableStack()
  const chains = openChains(surroundings, stack, { meterOf: chain => meters.get(chain) })
  const runner = runnerOn(chains, surroundings, stack)
  const sample = await takeSample(works, { runner, stored: outbox?.metrics, time: surroundings.time })
  const costs = surroundings.config.chains.map(({ name, id }) => {
    const met = blocksOf(sample, id)
    const sampled = chainSample(meters.get(name)?.requests ?? [], met.size)
    const windows = chainWindows(works, concurrency, order, work => chainsOf(sample, work).has(id))
    const isKnown = (hour: Hour) => outbox?.finalBlocks(id).of(hour) !== undefined
    const seen = { sampled, met, tickSeconds: chains[name]?.tickSeconds }
    const lookUps = lookUpCost({ ...seen, windows, isKnown, nowMs: surroundings.time.nowMs() })
    return { ...sumOf([sampled.once, lookUps, readCost(sampled, windows)]), certainty: lookUps.certainty }
  })
  const planned = works.map(work => ({ ...work, metrics: work.hours.length * metricsAnHour(sample, work) }))
  const pushes = plannedPushes(parts, planned)
  const windows = windowsOf(works, concurrency, order).length
  const pacedMs = (1000 * pushes) / surroundings.config.delivery.pacePerSecond
  return {
    works: planned,
    hours: hoursOf(works),
    cost: sumOf(costs),
    pushes,
    durationMs: Math.max(windows * sample.ms, pacedMs),
    certainty: costs.every(({ certainty }) => certainty === 'exact') ? 'exact' : 'about',
    sample,
    spent: sumOf([...meters.values()].map(meter => meter.counts())),
  }
}

/** Of what is due already, and what comes. */
function plannedPushes({ surroundings, outbox }: PlanParts, works: readonly PlannedWork[]): number {
  const { config, time } = surroundings
  const destinations = destinationsOf(
    config,
    () => '',
    () => '',
  )
  const counts = destinations.map(({ protocols }) => {
    const ids = protocols.map(({ id }) => id)
    const due = outbox?.due.countUpTo(ids, hourAt(time.nowMs())) ?? 0
    const own = works.filter(({ collector }) => ids.includes(collector.protocolId))
    return pushesOf(own.reduce((sum, { metrics }) => sum + metrics, due))
  })
  return counts.reduce((sum, count) => sum + count, 0)
}
