import type { AppContext } from '../app/context.ts'
import { openRunner } from '../app/open-chains.ts'
import type { CollectorConfig } from '../config/config.ts'
import { asFault, collect, usable } from '../intake/collect.ts'
import { faultLine } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import { catchUpConcurrency } from '../model/limits.ts'
import type { OperatorStore } from '../outbox/contract/operator-store.ts'
import type { CollectorDescription, Runner } from '../runner/runner.ts'
import { createLog } from '../telemetry/log.ts'
import { compare, type Difference, drawn } from './drift.ts'
import type { LookedAt } from './hour-range.ts'

/** Number of delivered hours to draw, and from which. */
export interface Draw {
  readonly collectors: readonly CollectorConfig[]
  readonly range: LookedAt
  /** Number of hours to draw. */
  readonly sample: number
  /** A whole number: equal seeds draw equal hours. */
  readonly seed: number
}

/** Result of reading hours again. */
export interface Drift {
  /** Delivered hours to draw from, and those drawn. */
  readonly hoursAll: number
  /** Hours drawn. */
  readonly hours: number
  /** Number of compared values. */
  readonly compared: number
  readonly differences: readonly Difference[]
  readonly unread: readonly Unread[]
  /** Collectors that can read only the present. */
  readonly leftOut: readonly string[]
}

/** A metric's value at an hour, or a whole collector, that could not be read again. */
export interface Unread {
  readonly of: string
  /** Absent when the whole collector could not be read. */
  readonly hour?: Hour
  readonly reason: string
}

interface Chosen {
  readonly collector: CollectorConfig
  readonly description: CollectorDescription
  readonly hour: Hour
}

/** Reads random delivered hours again and compares. Stores nothing, and uses no cached as-of block. */
export async function readAgain(context: AppContext, store: OperatorStore, draw: Draw): Promise<Drift> {
  await using stack = new AsyncDisposableStack()
  const log = createLog(context.config.log.level, context.redactor)
  const runner = openRunner({ ...context, log }, stack)
  const described = await Promise.all(draw.collectors.map(collector => describe(runner, collector)))
  const readable = described.flatMap(one => (one.kind === 'readable' ? [one] : []))
  const ids = readable.map(({ collector }) => collector.id)
  const delivered = await store.deliveredHours(ids, draw.range.from, draw.range.to)
  const chosen = drawn(delivered, draw.sample, draw.seed).flatMap(({ collector: id, hour }) =>
    readable.filter(({ collector }) => collector.id === id).map(one => ({ ...one, hour })),
  )
  const compared = await inLanes(chosen, one => compareOne(runner, store, one))
  return {
    hoursAll: delivered.length,
    hours: chosen.length,
    compared: compared.reduce((sum, one) => sum + one.compared, 0),
    differences: compared.flatMap(({ differences }) => differences),
    unread: [...described.flatMap(one => (one.kind === 'unread' ? [one.unread] : [])), ...compared.flatMap(unreadOf)],
    leftOut: described.flatMap(one => (one.kind === 'left-out' ? [one.collector.id] : [])),
  }
}

async function describe(runner: Runner, collector: CollectorConfig) {
  try {
    const description = usable(collector, await runner.describe(collector))
    if (!description.history) return { kind: 'left-out', collector } as const
    return { kind: 'readable', collector, description } as const
  } catch (error) {
    return { kind: 'unread', unread: { of: collector.id, reason: faultLine(asFault(error)) } } as const
  }
}

async function compareOne(runner: Runner, store: OperatorStore, { collector, description, hour }: Chosen) {
  const stored = await store.metrics(hour, hour)
  const delivered = stored.filter(metric => metric.collector === collector.id && metric.state === 'delivered')
  const again = await collect({ runner, store: undefined }, collector, description, hour)
  return { hour, ...compare(delivered, again) }
}

function unreadOf({ hour, unread }: Awaited<ReturnType<typeof compareOne>>): Unread[] {
  return unread.map(({ metric, reason }) => ({ of: metric, hour, reason }))
}

/** Runs a few at a time; the results are in the order of `all`. */
async function inLanes<T, R>(all: readonly T[], act: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const entries = all.entries()
  const lane = async () => {
    for (const [place, one] of entries) results[place] = await act(one)
  }
  await Promise.all(Array.from({ length: catchUpConcurrency }, lane))
  return results
}
