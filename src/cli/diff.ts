import { basename, extname, resolve } from 'node:path'
import type { AppContext } from '../app/context.ts'
import type { CollectorConfig } from '../config/config.ts'
import type { Collected } from '../intake/validate.ts'
import { Fault } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import { labelOf, type Metric, type MetricId } from '../model/metric.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import { deliveredOf, describeReadable, inLanes, openLoggedReader, type Unread } from './read-again.ts'

/** A value that a changed collector would give otherwise, or that only one of the two gives. */
export interface ValueChange {
  readonly metric: MetricId
  readonly hour: Hour
  /** The delivered value; absent when there is none. */
  readonly stored?: number
  /** The value of the changed collector; absent when it gives none. */
  readonly changed?: number
  /** Why the changed collector gives none; absent when it gives one. */
  readonly reason?: string
}

/** Result of comparing a changed collector with the delivered hours of the one that it would replace. */
export interface CollectorDiff {
  readonly collector: string
  readonly hours: readonly Hour[]
  /** Number of values that both give, and the same, bit for bit. */
  readonly equal: number
  /** By hour. */
  readonly changes: readonly ValueChange[]
  /** Why the changed collector cannot be run at all; absent when it can. */
  readonly unread?: Unread
}

/**
 * The configured collector that a file would replace: the named one, else the one whose code has the same file name.
 *
 * @throws Fault `usage` when that is not exactly one
 */
export function replaced(collectors: readonly CollectorConfig[], file: string, isNamed: boolean): CollectorConfig {
  const nameOf = (path: string) => basename(path, extname(path))
  const fits = isNamed ? collectors : collectors.filter(({ use }) => nameOf(use) === nameOf(file))
  const [only] = fits
  if (only && fits.length === 1) return only
  const found = fits.length === 0 ? `no configured collector is called ${nameOf(file)}` : 'several collectors fit'
  const ids = (fits.length === 0 ? collectors : fits).map(({ id }) => id).join(', ')
  throw new Fault('usage', found, { fix: `name the one it would replace with --only: ${ids}` })
}

/**
 * Runs the code of a file for the last delivered hours of a collector, with that collector's options, and compares. Stores
 * and sends nothing.
 */
export async function diffCollector(
  context: AppContext,
  { operators: store, intake }: Pick<Outbox, 'operators' | 'intake'>,
  {
    collector,
    file,
    hoursMax,
  }: { readonly collector: CollectorConfig; readonly file: string; readonly hoursMax: number },
): Promise<CollectorDiff> {
  await using stack = new AsyncDisposableStack()
  const reader = openLoggedReader(context, stack)
  const changed = { ...collector, use: resolve(file) }
  const nothing = { collector: collector.id, hours: [], equal: 0, changes: [] }
  const described = await describeReadable(reader, changed)
  if (described.kind === 'unread') return { ...nothing, unread: described.unread }
  if (described.kind === 'left-out') {
    return { ...nothing, unread: { of: collector.id, reason: 'it only reads “now”: past hours cannot be compared' } }
  }
  const { description } = described
  const delivered = await store.deliveredHours([collector.id])
  const hours = delivered.slice(-hoursMax).map(({ hour }) => hour)
  const compared = await inLanes(hours, async hour => {
    const stored = await deliveredOf(store, collector.id, hour)
    return changesOf(hour, stored, await reader.collect({ collector: changed, description, hour }, intake))
  })
  const changes = compared.flatMap(({ changes: own }) => own)
  return { collector: collector.id, hours, equal: compared.reduce((sum, { equal }) => sum + equal, 0), changes }
}

/** Compares an hour's delivered values with those of a changed collector. Pure. */
export function changesOf(
  hour: Hour,
  stored: readonly Metric[],
  { accepted, failures, fault }: Collected,
): { readonly equal: number; readonly changes: readonly ValueChange[] } {
  const now = new Map(accepted.map(({ metric }) => [metric.id, metric.value]))
  const before = new Map(stored.map(({ id, value }) => [id, value]))
  const kept = stored.flatMap((metric): ValueChange[] => {
    const { id, value } = metric
    const changed = now.get(id)
    if (Object.is(changed, value)) return []
    if (changed !== undefined) return [{ metric: id, hour, stored: value, changed }]
    const reason = failures[labelOf(metric)]?.message ?? fault?.message ?? 'the changed collector does not return it'
    return [{ metric: id, hour, stored: value, reason }]
  })
  const added = accepted.flatMap(({ metric: { id, value } }): ValueChange[] =>
    before.has(id) ? [] : [{ metric: id, hour, changed: value }],
  )
  return { equal: stored.length - kept.length, changes: [...kept, ...added] }
}
