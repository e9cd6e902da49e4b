import type { AppContext } from '../app/context.ts'
import type { CollectorConfig } from '../config/config.ts'
import { collect } from '../intake/collect.ts'
import type { Hour } from '../model/hour.ts'
import type { OperatorStore } from '../outbox/contract/operator-store.ts'
import type { CollectorDescription, Runner } from '../runner/runner.ts'
import { compare, type Difference, drawn } from './drift.ts'
import type { LookedAt } from './hour-range.ts'
import { deliveredOf, describeReadable, inLanes, openLoggedRunner, type Unread } from './read-again.ts'

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

interface Chosen {
  readonly collector: CollectorConfig
  readonly description: CollectorDescription
  readonly hour: Hour
}

/** Reads random delivered hours again and compares. Stores nothing, and uses no cached as-of block. */
export async function readAgain(context: AppContext, store: OperatorStore, draw: Draw): Promise<Drift> {
  await using stack = new AsyncDisposableStack()
  const runner = openLoggedRunner(context, stack)
  const described = await Promise.all(draw.collectors.map(collector => describeReadable(runner, collector)))
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

async function compareOne(runner: Runner, store: OperatorStore, { collector, description, hour }: Chosen) {
  const delivered = await deliveredOf(store, collector.id, hour)
  const again = await collect({ runner, store: undefined }, collector, description, hour)
  return { hour, ...compare(delivered, again) }
}

function unreadOf({ hour, unread }: Awaited<ReturnType<typeof compareOne>>): Unread[] {
  return unread.map(({ metric, reason }) => ({ of: metric, hour, reason }))
}
