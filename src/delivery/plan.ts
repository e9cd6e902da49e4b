import type { ProtocolConfig } from '../config/config.ts'
import type { Batch } from '../model/batch.ts'
import { type Hour, hourAt } from '../model/hour.ts'
import { duePageMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { MetricSet } from './metric-set.ts'
import { probeOf } from './probe.ts'

/** What one flush may send. */
export interface Plan {
  readonly protocols: readonly ProtocolConfig[]
  /** Due metrics that are left alone. */
  readonly aside: readonly Metric[]
  /** Due metrics the service failed on before: each is sent alone, after everything else. */
  readonly troubled: readonly Metric[]
  /** The newest due hour goes first, and whatever is newer by then. */
  readonly fresh: Hour
  /** Sent alone before anything else; absent when nothing has failed. */
  readonly probe?: Batch
}

/** What a plan is made from. */
export interface Planning {
  readonly outbox: Pick<Outbox, 'due'>
  /** Those that are not left out. */
  readonly protocols: readonly ProtocolConfig[]
  readonly aside: readonly Metric[]
  readonly troubled: readonly Metric[]
  /** The latest hour the service takes. */
  readonly latest: Hour
  readonly nowMs: number
  /** Failed flushes in a row that call for a probe. */
  readonly failures: number
  readonly chance: number
}

/** What may be sent now; `undefined` when nothing may. Reads only. */
export function planFlush(planning: Planning): Plan | undefined {
  const { outbox, protocols, aside, latest, nowMs, failures, chance } = planning
  const troubled = planning.troubled.filter(({ protocolId }) => protocols.some(({ id }) => id === protocolId))
  const protocolIds = protocols.map(({ id }) => id)
  const newest = outbox.due.hour('newest', protocolIds, latest)
  if (newest === undefined) return undefined
  const fresh = newest < nowMs ? newest : hourAt(nowMs)
  const left = new MetricSet()
  for (const metric of [...aside, ...troubled]) left.add(metric)
  const limit = (failures > 0 ? duePageMax : 1) + left.size
  const due = outbox.due.read({ protocolIds, fresh, latest }, limit).filter(metric => !left.has(metric))
  if (due.length === 0 && troubled.length === 0) return undefined
  const probe = failures > 0 ? probeOf(due, failures, chance) : undefined
  return { protocols, aside, troubled, fresh, ...(probe && { probe }) }
}
