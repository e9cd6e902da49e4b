import type { Time } from '../edge/time.ts'
import { isYetToCome } from '../model/backoff.ts'
import { type Batch, isBatch } from '../model/batch.ts'
import { type Hour, hourAt } from '../model/hour.ts'
import { batchMetricsMax, dueListMax, probeMetricsMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import { MetricSet } from '../model/metric-set.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import type { Quarantine } from './isolate/quarantine.ts'
import { dueWanted } from './worklist.ts'

/** Order and start of one flush. */
export interface Plan {
  /** Hours from this one on go first, the newest before the others; then the oldest. */
  readonly newestFirstFrom: Hour
  /** Small batches that are sent before anything else; none when nothing has failed. */
  readonly probes: readonly Batch[]
}

/** Dependencies of `planFlush`. */
interface FlushPlanDeps {
  readonly outbox: Pick<DeliveryStore, 'dueHour' | 'due'>
  /** All protocols of the destination. */
  readonly protocolIds: readonly string[]
  readonly quarantine: Pick<
    Quarantine,
    'sendStateOf' | 'failuresOf' | 'protocolsToProbe' | 'hasProtocol' | 'hasMetric' | 'isSuspect'
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
    newest === undefined ? [] : outbox.due({ protocolIds: ids, newestFirstFrom, latest }, limit)
  const sendable = (some: readonly Metric[]) =>
    some.filter(metric => quarantine.sendStateOf(metric, nowMs, isAsked) !== 'waits')
  const due = await dueWanted(read, sendable, 1, failures > 0 ? dueListMax : 1)
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
    !quarantine.hasProtocol(metric.protocolId) && quarantine.sendStateOf(metric, nowMs, isAsked) === 'free'
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

/**
 * The small batch that tests whether a service is up again: the first metrics after a first failure, then others and fewer,
 * in case those metrics are at fault. Pure.
 *
 * @param due in the order of delivery
 * @param failures flushes that failed in a row, counted from 1
 * @param chance a number from 0 up to 1
 */
export function probeOf(due: readonly Metric[], failures: number, chance: number): Batch | undefined {
  const size = Math.max(1, Math.floor(probeMetricsMax / 2 ** Math.floor(failures / 2)))
  const start = failures === 1 ? 0 : Math.floor(chance * Math.max(1, due.length - size + 1))
  const probe = due.slice(start, start + size)
  return isBatch(probe) ? probe : undefined
}

/** Dependencies of `QuarantineProbes`. */
interface ProbesDeps {
  readonly quarantine: Quarantine
  readonly time: Time
  /** Configured pause between two requests to the service. */
  readonly intervalMs: number
}

/** Largest share of the pace for pushes out of quarantine. */
const quarantinePaceShare = 0.1

/** Metrics among which a probe is drawn. */
const rowsToChooseMax = 50

/** The parameters of one flush. */
export interface ProbesOf {
  /** Whether a person wants everything tried at once. */
  readonly isAsked: boolean
  /** All protocols of the destination. */
  readonly protocolIds: readonly string[]
  /** Reads due metrics. @param newestFirstFrom hours from there on go first; default: as in the flush */
  due(protocolIds: readonly string[], limit: number, newestFirstFrom?: Hour): Promise<readonly Metric[]>
}

/**
 * Picks the metrics that are tried out of quarantine: those of a new hour once before all older hours, and others one
 * between two looks at fresh work, no more often than a share of the pace allows, so that what the service fails on never
 * delays what it accepts.
 */
export class QuarantineProbes {
  readonly #deps: ProbesDeps
  #lastMs = Number.NEGATIVE_INFINITY
  #isProtocolsTurn = true

  constructor(deps: ProbesDeps) {
    this.#deps = deps
  }

  /** Picks for one flush: one metric a call; `undefined` when there are no more. */
  of(flush: ProbesOf): () => Promise<Metric | undefined> {
    const [metrics, protocols] = [new MetricSet(), new Set<string>()]
    let count = 0
    return async () => {
      if (!flush.isAsked && (count > 0 || this.#isTooSoon)) return undefined
      const metric = await this.#pick(flush, metrics, protocols)
      if (!metric) return undefined
      count += 1
      metrics.add(metric)
      protocols.add(metric.protocolId)
      this.#lastMs = this.#deps.time.nowMs()
      this.#isProtocolsTurn = !this.#isProtocolsTurn
      return metric
    }
  }

  /** Metrics of the newest hour whose protocol or id has failed at older hours only: one of each protocol, each id. */
  async newest({ protocolIds, due: read }: ProbesOf, newestFirstFrom: Hour): Promise<readonly Metric[]> {
    const { quarantine, time } = this.#deps
    const nowMs = time.nowMs()
    const found: (Metric | undefined)[] = []
    for (const [id, hour] of quarantine.newHours) {
      const list = await read([id], batchMetricsMax, hour)
      found.push(this.#oneOf(list.filter(metric => metric.hour === hour)))
    }
    if (!quarantine.isWithoutMetrics) {
      const list = await read(
        protocolIds.filter(id => !quarantine.hasProtocol(id)),
        dueListMax,
      )
      found.push(...list.filter(metric => metric.hour >= newestFirstFrom && quarantine.isUntried(metric, nowMs)))
    }
    return found.filter(metric => metric !== undefined)
  }

  get #isTooSoon(): boolean {
    const { intervalMs, time } = this.#deps
    const restMs = intervalMs / quarantinePaceShare
    return isYetToCome(this.#lastMs + restMs, time.nowMs(), restMs)
  }

  async #pick(flush: ProbesOf, metrics: MetricSet, protocols: ReadonlySet<string>): Promise<Metric | undefined> {
    const ofProtocols = () => this.#ofProtocols(flush, protocols)
    const ofRows = () => this.#ofRows(flush, metrics)
    const [first, second] = this.#isProtocolsTurn ? [ofProtocols, ofRows] : [ofRows, ofProtocols]
    return (await first()) ?? (await second())
  }

  /** Draws another metric of a protocol each time, of its newest hour or any, in case the last one alone is at fault. */
  async #ofProtocols(
    { isAsked, protocolIds, due: read }: ProbesOf,
    tried: ReadonlySet<string>,
  ): Promise<Metric | undefined> {
    const { quarantine, time } = this.#deps
    const nowMs = time.nowMs()
    for (const id of quarantine.protocolsToProbe(nowMs, isAsked)) {
      if (tried.has(id) || !protocolIds.includes(id)) continue
      const hour = quarantine.hourToProbe(id)
      const list = await read([id], dueListMax, hour)
      const due = list.filter(metric => hour === undefined || metric.hour === hour)
      const free = due.filter(metric => quarantine.sendStateOf(metric, nowMs, isAsked) === 'free')
      const metric = this.#oneOf(free.length > 0 ? free : due)
      if (metric) return metric
    }
    return undefined
  }

  async #ofRows({ isAsked, protocolIds, due: read }: ProbesOf, tried: MetricSet): Promise<Metric | undefined> {
    const { quarantine, time } = this.#deps
    if (quarantine.isWithoutMetrics) return undefined
    const nowMs = time.nowMs()
    const ids = protocolIds.filter(id => !quarantine.hasProtocol(id))
    const isWanted = (metric: Metric) =>
      !tried.has(metric) && quarantine.sendStateOf(metric, nowMs, isAsked) === 'alone'
    const wanted = await dueWanted(
      limit => read(ids, limit),
      some => some.filter(isWanted),
      rowsToChooseMax,
      dueListMax,
    )
    // Another one each time: where a metric id fails for some hours only, its other hours must not wait behind them.
    const newest = wanted.filter(metric => metric.hour === wanted[0]?.hour && !quarantine.hasMetric(metric))
    return this.#oneOf(newest.length > 0 ? newest : wanted)
  }

  /** Draws one, from those that have not failed themselves if there are any. */
  #oneOf(metrics: readonly Metric[]): Metric | undefined {
    const { quarantine, time } = this.#deps
    const untried = metrics.filter(metric => !quarantine.hasMetric(metric))
    const from = untried.length > 0 ? untried : metrics
    return from[Math.floor(time.chance() * from.length)]
  }
}
