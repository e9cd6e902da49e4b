import type { Batch } from '../../model/batch.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import { duePageMax } from '../../model/limits.ts'
import type { Metric } from '../../model/metric.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { Quarantine } from '../isolate/quarantine.ts'
import { probeOf } from './probe.ts'
import { dueWanted } from './worklist.ts'

/** What one flush may send. */
export interface Plan {
  /** The newest due hour goes first, and whatever is newer by then. */
  readonly fresh: Hour
  /** Sent alone before anything else; absent when nothing has failed. */
  readonly probe?: Batch
}

/** What a plan is made from. */
export interface Planning {
  readonly outbox: Pick<Outbox, 'due'>
  /** Those that are not in quarantine. */
  readonly protocolIds: readonly string[]
  readonly quarantine: Pick<Quarantine, 'standing' | 'failuresOf' | 'protocolsToProbe'>
  /** Whether a person wants all of it, at once. */
  readonly isAsked: boolean
  /** The latest hour the service takes. */
  readonly latest: Hour
  readonly nowMs: number
  /** Failed flushes in a row that call for a probe. */
  readonly failures: number
  readonly chance: number
}

/** What may be sent now; `undefined` when nothing may. Reads only. */
export function planFlush(planning: Planning): Plan | undefined {
  const { outbox, protocolIds, quarantine, isAsked, latest, nowMs, failures, chance } = planning
  const newest = outbox.due.hour('newest', protocolIds, latest)
  const fresh = newest !== undefined && newest < nowMs ? newest : hourAt(nowMs)
  const read = (limit: number) => (newest === undefined ? [] : outbox.due.read({ protocolIds, fresh, latest }, limit))
  const isMet = (metric: Metric) => quarantine.standing(metric, nowMs, isAsked) !== 'waits'
  const due = dueWanted(read, isMet, 1, failures > 0 ? duePageMax : 1)
  if (due.length === 0) return quarantine.protocolsToProbe(nowMs, isAsked).length > 0 ? { fresh } : undefined
  const free = due.filter(metric => quarantine.standing(metric, nowMs, isAsked) === 'free')
  const probe = failures > 0 ? probeOf(leastDoubtful(free, quarantine), failures, chance) : undefined
  return { fresh, ...(probe && { probe }) }
}

/** Metrics of the protocols on which the service failed least, since it may be just the others. */
function leastDoubtful(due: readonly Metric[], quarantine: Pick<Quarantine, 'failuresOf'>): readonly Metric[] {
  const doubts = new Map(
    [...new Set(due.map(({ protocolId }) => protocolId))].map(id => [id, quarantine.failuresOf(id)]),
  )
  const least = Math.min(...doubts.values())
  return due.filter(({ protocolId }) => doubts.get(protocolId) === least)
}
