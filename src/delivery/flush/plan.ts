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
  /** Small batches that are sent before anything else; none when nothing has failed. */
  readonly probes: readonly Batch[]
}

/** Dependencies of `planFlush`. */
export interface FlushPlanDeps {
  readonly outbox: Pick<DeliveryStore, 'dueHour' | 'due'>
  /** All protocols of the destination. */
  readonly protocolIds: readonly string[]
  readonly quarantine: Pick<
    Quarantine,
    'standing' | 'failuresOf' | 'protocolsToProbe' | 'hasProtocol' | 'hasMetric' | 'isSuspect'
  >
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
  const { outbox, protocolIds, quarantine, isAsked, latest, nowMs, failures } = deps
  // After a failure the newest hour goes first whatever its protocol: one in quarantine may be taken again from there on.
  const ids = failures > 0 ? protocolIds : protocolIds.filter(id => !quarantine.hasProtocol(id))
  const newest = await outbox.dueHour('newest', ids, latest)
  const newestFirstFrom = newest !== undefined && newest < nowMs ? newest : hourAt(nowMs)
  const read = async (limit: number) =>
    newest === undefined ? [] : await outbox.due({ protocolIds: ids, newestFirstFrom, latest }, limit)
  const met = (some: MetricList) => some.filter(metric => quarantine.standing(metric, nowMs, isAsked) !== 'waits')
  const due = await dueWanted(read, met, 1, failures > 0 ? duePageMax : 1)
  if (due.length === 0) {
    return quarantine.protocolsToProbe(nowMs, isAsked).length > 0 ? { newestFirstFrom, probes: [] } : undefined
  }
  return { newestFirstFrom, probes: failures > 0 ? probesOf(due, deps) : [] }
}

/**
 * A batch of the newest hour, then one of the oldest; later of any others, in case those are at fault. Metrics that failed
 * alone since something was accepted are tried after all others, which go one by one then.
 *
 * @param due in the order of delivery
 */
function probesOf(due: readonly Metric[], deps: FlushPlanDeps): Batch[] {
  const { quarantine, isAsked, nowMs, failures, chance } = deps
  const [first] = due
  const isFree = (metric: Metric) =>
    !quarantine.hasProtocol(metric.protocolId) && quarantine.standing(metric, nowMs, isAsked) === 'free'
  const isNewest = ({ hour }: Metric) => hour === first?.hour
  const isUntried = (metric: Metric) => !quarantine.isSuspect(metric) && !quarantine.hasMetric(metric)
  if (due.some(metric => quarantine.isSuspect(metric)) && due.some(isUntried)) {
    const untried = due.filter(isUntried)
    const free = untried.filter(isFree)
    const some = free.length > 1 ? free : untried
    const one = probeOf(some.some(isNewest) ? some.filter(isNewest) : some, failures, chance)?.[0]
    const other = probeOf(
      some.filter(metric => metric !== one),
      failures,
      chance,
    )?.[0]
    return [one, other].flatMap(metric => (metric ? [[metric] as const] : []))
  }
  const newest = due.filter(isNewest)
  const free = newest.filter(isFree)
  const others = due.filter(metric => !isNewest(metric) && isFree(metric))
  return [free.length > 0 ? free : newest, others]
    .map(some => probeOf(leastFailed(some, quarantine), failures, chance))
    .filter(probe => probe !== undefined)
}

/** Metrics of the protocols with the fewest failures: the others may be at fault. */
function leastFailed(due: readonly Metric[], quarantine: Pick<Quarantine, 'failuresOf'>): readonly Metric[] {
  const failures = new Map(
    [...new Set(due.map(({ protocolId }) => protocolId))].map(id => [id, quarantine.failuresOf(id)]),
  )
  const least = Math.min(...failures.values())
  return due.filter(({ protocolId }) => failures.get(protocolId) === least)
}
