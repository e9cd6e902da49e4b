import type { AppContext } from '../app/context.ts'
import type { CollectorConfig } from '../config/config.ts'
import type { HourReader } from '../intake/hour-reader.ts'
import type { Hour } from '../model/hour.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { CollectorDescription } from '../runner/runner.ts'
import { compare, type Difference, drawn } from './drift.ts'
import type { LookedAt } from './hour-range.ts'
import { deliveredOf, describeReadable, inLanes, openLoggedReader, type Unread } from './read-again.ts'

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

type ReadOutbox = Pick<Outbox, 'operators' | 'intake'>

interface Chosen {
  readonly collector: CollectorConfig
  readonly description: CollectorDescription
  readonly hour: Hour
}

/** Reads random delivered hours again and compares. Stores nothing, and uses no cached as-of block. */
export async function readAgain(context: AppContext, outbox: ReadOutbox, draw: Draw): Promise<Drift> {
  await using stack = new AsyncDisposableStack()
  const reader = openLoggedReader(context, stack)
  const described = await Promise.all(draw.collectors.map(collector => describeReadable(reader, collector)))
  const readable = described.flatMap(one => (one.kind === 'readable' ? [one] : []))
  const ids = readable.map(({ collector }) => collector.id)
  const delivered = await outbox.operators.deliveredHours(ids, draw.range.from, draw.range.to)
  const chosen = drawn(delivered, draw.sample, draw.seed).flatMap(({ collector: id, hour }) =>
    readable.filter(({ collector }) => collector.id === id).map(one => ({ ...one, hour })),
  )
  const compared = await inLanes(chosen, one => compareOne(reader, outbox, one))
  return {
    hoursAll: delivered.length,
    hours: chosen.length,
    compared: compared.reduce((sum, one) => sum + one.compared, 0),
    differences: compared.flatMap(({ differences }) => differences),
    unread: [...described.flatMap(one => (one.kind === 'unread' ? [one.unread] : [])), ...compared.flatMap(unreadOf)],
    leftOut: described.flatMap(one => (one.kind === 'left-out' ? [one.collector.id] : [])),
  }
}

async function compareOne(reader: HourReader, outbox: ReadOutbox, { collector, description, hour }: Chosen) {
  const delivered = await deliveredOf(outbox.operators, collector.id, hour)
  const again = await reader.collect({ collector, description, hour }, outbox.intake)
  return { hour, ...compare(delivered, again) }
}

function unreadOf({ hour, unread }: Awaited<ReturnType<typeof compareOne>>): Unread[] {
  return unread.map(({ metric, reason }) => ({ of: metric, hour, reason }))
}
