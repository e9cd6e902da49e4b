import type { Batch } from '../../model/batch.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import { duePageMax } from '../../model/limits.ts'
import type { Metric } from '../../model/metric.ts'
import type { MetricList } from '../../model/metric-list.ts'
import type { DeliveryStore } from '../../outbox/contract/delivery-store.ts'
import type { Quarantine } from '../isolate/quarantine.ts'
import { dueWanted } from './due-wanted.ts'
import { probeOf } from './probe.ts'

/** Order and start of one flush. */
export interface Plan {
  /** Hours from this one on go first, the newest before the others; then the oldest. */
  readonly newestFirstFrom: Hour
  /** A small batch that is sent before anything else; absent when nothing has failed. */
  readonly probe?: Batch
}

/** Dependencies of `planFlush`. */
export interface FlushPlanDeps {
  readonly outbox: Pick<DeliveryStore, 'dueHour' | 'due'>
  /** The destination's, without those in quarantine. */
  readonly protocolIds: readonly string[]
  readonly quarantine: Pick<Quarantine, 'standing' | 'failuresOf' | 'protocolsToProbe'>
  /** A person wants everything sent at once. */
  readonly isAsked: boolean
  /** Latest hour the service accepts. */
  readonly latest: Hour
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** Failed flushes in a row that call for a probe. */
  readonly failures: number
  /** A random number from 0 up to 1, for the choice of a probe. */
  readonly chance: number
}

/** The plan of a flush; `undefined` when nothing may be sent now. Reads only. */
export async function planFlush(deps: FlushPlanDeps): Promise<Plan | undefined> {
  const { outbox, protocolIds, quarantine, isAsked, latest, nowMs, failures, chance } = deps
  const newest = await outbox.dueHour('newest', protocolIds, latest)
  const newestFirstFrom = newest !== undefined && newest < nowMs ? newest : hourAt(nowMs)
  const read = async (limit: number) =>
    newest === undefined ? [] : await outbox.due({ protocolIds, newestFirstFrom, latest }, limit)
  const met = (some: MetricList) => some.filter(metric => quarantine.standing(metric, nowMs, isAsked) !== 'waits')
  const due = await dueWanted(read, met, 1, failures > 0 ? duePageMax : 1)
  if (due.length === 0) return quarantine.protocolsToProbe(nowMs, isAsked).length > 0 ? { newestFirstFrom } : undefined
  const free = due.filter(metric => quarantine.standing(metric, nowMs, isAsked) === 'free')
  const probe = failures > 0 ? probeOf(leastFailed(free, quarantine), failures, chance) : undefined
  return { newestFirstFrom, ...(probe && { probe }) }
}

/** Metrics of the protocols with the fewest failures: the others may be at fault. */
function leastFailed(due: readonly Metric[], quarantine: Pick<Quarantine, 'failuresOf'>): readonly Metric[] {
  const failures = new Map(
    [...new Set(due.map(({ protocolId }) => protocolId))].map(id => [id, quarantine.failuresOf(id)]),
  )
  const least = Math.min(...failures.values())
  return due.filter(({ protocolId }) => failures.get(protocolId) === least)
}
