import type { Time } from '../edge/time.ts'
import { isYetToCome } from '../model/backoff.ts'
import { type Batch, isBatch } from '../model/batch.ts'
import { type Hour, hourAt } from '../model/hour.ts'
import { batchMetricsMax, dueListMax, probeMetricsMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import { MetricSet } from '../model/metric-set.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import type { ServiceClock } from './gate.ts'
import type { Quarantine } from './isolate/quarantine.ts'

/**
 * Due metrics that are wanted, at least `countMin` if there are so many: reads on while unwanted ones stand before them.
 *
 * @param readDue reads due metrics in the order of delivery
 * @param pick picks the wanted ones, as soon as they were read
 * @param limit of the first read
 */
export async function dueWanted(
  readDue: (limit: number) => Promise<readonly Metric[]>,
  pick: (read: readonly Metric[]) => readonly Metric[],
  countMin: number,
  limit: number,
): Promise<readonly Metric[]> {
  for (let reach = limit; ; reach *= 2) {
    const read = await readDue(reach)
    const wanted = pick(read)
    if (wanted.length >= countMin || read.length < reach) return wanted
  }
}

/** Metrics that are due in the outbox and must not be read as such: handed out, or their verdict is not recorded yet. */
export class ExcludedMetrics {
  readonly #metrics = new MetricSet()
  /** For each read under way, the metrics removed since it began: it may have found them due. */
  readonly #removedSince = new Set<MetricSet>()

  get size(): number {
    return this.#metrics.size
  }

  has(metric: Metric): boolean {
    return this.#metrics.has(metric)
  }

  add(metrics: readonly Metric[]): void {
    this.#metrics.add(...metrics)
  }

  delete(metrics: readonly Metric[]): void {
    this.#metrics.delete(...metrics)
    for (const removed of this.#removedSince) removed.add(...metrics)
  }

  /** Reads metrics without the excluded ones. @param readDue is given how many there are */
  async without(readDue: (excluded: number) => Promise<readonly Metric[]>): Promise<readonly Metric[]> {
    const withdrawals = new MetricSet()
    this.#removedSince.add(withdrawals)
    try {
      return (await readDue(this.size)).filter(metric => !this.has(metric) && !withdrawals.has(metric))
    } finally {
      this.#removedSince.delete(withdrawals)
    }
  }
}

/** The parts of a delivery that its plans ask. */
export interface PlanDeps {
  readonly outbox: Pick<DeliveryStore, 'dueHour' | 'due' | 'lastDelivered'>
  /** Of all protocols of the destination. */
  readonly protocolIds: readonly string[]
  readonly quarantine: Pick<
    Quarantine,
    'sendStateOf' | 'failuresOf' | 'protocolsToProbe' | 'hasProtocol' | 'hasMetric' | 'isSuspect'
  >
  /** Metrics that are still due in the outbox, as their verdict waits for its lock. */
  readonly unrecordedMetrics: ExcludedMetrics
  readonly clock: Pick<ServiceClock, 'latestHour' | 'skewMs'>
  readonly time: Time
}

/** Order of the metrics that one flush may send. It leaves out the protocols that the flush has quarantined. */
export class FlushPlan {
  readonly #deps: PlanDeps
  readonly #leftOut = new Set<string>()
  /** Whether a person wants everything sent at once. */
  readonly isAsked: boolean
  /** Hours from this one on go first, the newest before the others; then the oldest. */
  readonly newestFirstFrom: Hour
  /** The current hour: it is not mixed with older ones in a batch, which a service may fail on alone. */
  readonly current: Hour
  /** Small batches that are sent before anything else, once each, to test whether the service is up; none when nothing has failed. */
  readonly probes: readonly Batch[]

  constructor(deps: PlanDeps, isAsked: boolean, newestFirstFrom: Hour, probes: readonly Batch[] = []) {
    this.#deps = deps
    this.isAsked = isAsked
    this.newestFirstFrom = newestFirstFrom
    this.current = hourAt(deps.time.nowMs())
    this.probes = probes
  }

  /** Of all protocols of the destination. */
  get protocolIds(): readonly string[] {
    return this.#deps.protocolIds
  }

  /** Of the protocols that are not left out. */
  get openIds(): readonly string[] {
    return this.protocolIds.filter(id => !this.#isLeftOut(id))
  }

  /** Leaves a protocol out of the rest of the flush if it is in quarantine, even if a metric of it is accepted later. */
  leaveOut(protocolId: string): void {
    if (this.#deps.quarantine.hasProtocol(protocolId)) this.#leftOut.add(protocolId)
  }

  /**
   * Due metrics in the order of delivery, at most `limit`.
   *
   * @param protocolIds default: all that are not left out
   * @param from hours from there on go first; default: `newestFirstFrom`
   */
  due(limit: number, protocolIds = this.openIds, from = this.newestFirstFrom): Promise<readonly Metric[]> {
    return dueOf(this.#deps, protocolIds, from, limit)
  }

  /** The metrics that may be sent with others now. */
  free(dueMetrics: readonly Metric[]): readonly Metric[] {
    const { quarantine, time } = this.#deps
    const nowMs = time.nowMs()
    // A protocol may have been left out since the read began.
    return dueMetrics.filter(
      metric => !this.#isLeftOut(metric.protocolId) && quarantine.sendStateOf(metric, nowMs, false) === 'free',
    )
  }

  /**
   * A recently delivered metric, to test whether the service still accepts anything; `undefined` when there is none. Without
   * the service's clock a refusal may be about the time, which such a metric cannot show.
   */
  async earlier(): Promise<Metric | undefined> {
    const { outbox, clock, time } = this.#deps
    if (clock.skewMs === undefined) return undefined
    return await outbox.lastDelivered(this.protocolIds, hourAt(time.nowMs()))
  }

  #isLeftOut(protocolId: string): boolean {
    return this.#leftOut.has(protocolId) || this.#deps.quarantine.hasProtocol(protocolId)
  }
}

function dueOf(
  { outbox, unrecordedMetrics, clock, time }: PlanDeps,
  protocolIds: readonly string[],
  newestFirstFrom: Hour,
  limit: number,
): Promise<readonly Metric[]> {
  const wanted = { protocolIds, newestFirstFrom, latest: clock.latestHour(time.nowMs()) }
  return unrecordedMetrics.without(excluded => outbox.due(wanted, limit + excluded))
}

/**
 * The plan of a flush; `undefined` when nothing may be sent now. Reads only.
 *
 * @param failures failed flushes in a row that call for a probe
 */
export async function planFlush(deps: PlanDeps, isAsked: boolean, failures: number): Promise<FlushPlan | undefined> {
  const { outbox, protocolIds, quarantine, clock, time } = deps
  const nowMs = time.nowMs()
  // After a failure the newest hour goes first whatever its protocol: one in quarantine may be taken again from there on.
  const ids = failures > 0 ? protocolIds : protocolIds.filter(id => !quarantine.hasProtocol(id))
  const newestHour = await outbox.dueHour('newest', ids, clock.latestHour(nowMs))
  const newestFirstFrom = newestHour !== undefined && newestHour < nowMs ? newestHour : hourAt(nowMs)
  const stateOf = (metric: Metric) => quarantine.sendStateOf(metric, nowMs, isAsked)
  const dueMetrics = await dueWanted(
    async limit => (newestHour === undefined ? [] : dueOf(deps, ids, newestFirstFrom, limit)),
    some => some.filter(metric => stateOf(metric) !== 'waits'),
    1,
    failures > 0 ? dueListMax : 1,
  )
  if (dueMetrics.length === 0 && quarantine.protocolsToProbe(nowMs, isAsked).length === 0) return undefined
  const isFree = (metric: Metric) => !quarantine.hasProtocol(metric.protocolId) && stateOf(metric) === 'free'
  const probes = failures > 0 ? probesOf(dueMetrics, quarantine, isFree, failures, time.chance()) : []
  return new FlushPlan(deps, isAsked, newestFirstFrom, probes)
}

/**
 * A batch of the newest hour, then one of the oldest; later of any others, in case those are at fault. Metrics that failed
 * alone since something was accepted are tried after all others, which go one by one then.
 *
 * @param dueMetrics in the order of delivery
 */
function probesOf(
  dueMetrics: readonly Metric[],
  quarantine: PlanDeps['quarantine'],
  isFree: (metric: Metric) => boolean,
  failures: number,
  chance: number,
): Batch[] {
  const [first] = dueMetrics
  const isNewest = ({ hour }: Metric) => hour === first?.hour
  const isUntried = (metric: Metric) => !quarantine.isSuspect(metric) && !quarantine.hasMetric(metric)
  if (dueMetrics.some(metric => quarantine.isSuspect(metric)) && dueMetrics.some(isUntried)) {
    const untried = dueMetrics.filter(isUntried)
    const free = untried.filter(isFree)
    const candidates = free.length > 1 ? free : untried
    const firstProbe = probeOf(
      candidates.some(isNewest) ? candidates.filter(isNewest) : candidates,
      failures,
      chance,
    )?.[0]
    const secondProbe = probeOf(
      candidates.filter(metric => metric !== firstProbe),
      failures,
      chance,
    )?.[0]
    return [firstProbe, secondProbe].flatMap(metric => (metric ? [[metric] as const] : []))
  }
  const newestMetrics = dueMetrics.filter(isNewest)
  const free = newestMetrics.filter(isFree)
  const others = dueMetrics.filter(metric => !isNewest(metric) && isFree(metric))
  return [free.length > 0 ? free : newestMetrics, others]
    .map(some => probeOf(leastFailed(some, quarantine), failures, chance))
    .filter(probe => probe !== undefined)
}

/** Metrics of the protocols with the fewest failures: the others may be at fault. */
function leastFailed(dueMetrics: readonly Metric[], quarantine: Pick<Quarantine, 'failuresOf'>): readonly Metric[] {
  const failures = new Map(
    [...new Set(dueMetrics.map(({ protocolId }) => protocolId))].map(id => [id, quarantine.failuresOf(id)]),
  )
  const least = Math.min(...failures.values())
  return dueMetrics.filter(({ protocolId }) => failures.get(protocolId) === least)
}

/**
 * The small batch that tests whether a service is up again: the first metrics after a first failure, then others and fewer,
 * in case those metrics are at fault. Pure.
 *
 * @param dueMetrics in the order of delivery
 * @param failures flushes that failed in a row, counted from 1
 * @param chance a number from 0 up to 1
 */
export function probeOf(dueMetrics: readonly Metric[], failures: number, chance: number): Batch | undefined {
  const size = Math.max(1, Math.floor(probeMetricsMax / 2 ** Math.floor(failures / 2)))
  const start = failures === 1 ? 0 : Math.floor(chance * Math.max(1, dueMetrics.length - size + 1))
  const probe = dueMetrics.slice(start, start + size)
  return isBatch(probe) ? probe : undefined
}

/** Largest share of the pace for pushes out of quarantine. */
const quarantinePaceShare = 0.1

/** Metrics among which a probe is drawn. */
const rowsToChooseMax = 50

/** A flush, as far as probes depend on it. */
type ProbedFlush = Pick<FlushPlan, 'isAsked' | 'protocolIds' | 'newestFirstFrom' | 'due'>

/**
 * Picks the metrics that are tried out of quarantine: those of a new hour once before all older hours, and others one
 * between two looks at fresh work, no more often than a share of the pace allows, so that what the service fails on never
 * delays what it accepts.
 */
export class QuarantineProbes {
  readonly #quarantine: Quarantine
  readonly #time: Time
  /** Pause between two of them. */
  readonly #restMs: number
  #lastMs = Number.NEGATIVE_INFINITY
  #isProtocolsTurn = true

  /** @param intervalMs configured pause between two requests to the service */
  constructor(quarantine: Quarantine, time: Time, intervalMs: number) {
    this.#quarantine = quarantine
    this.#time = time
    this.#restMs = intervalMs / quarantinePaceShare
  }

  /** Picks for one flush: one metric a call; `undefined` when there are no more. */
  of(flush: ProbedFlush): () => Promise<Metric | undefined> {
    const [metrics, protocols] = [new MetricSet(), new Set<string>()]
    let count = 0
    return async () => {
      if (!flush.isAsked && (count > 0 || this.#isTooSoon)) return undefined
      const metric = await this.#pick(flush, metrics, protocols)
      if (!metric) return undefined
      count += 1
      metrics.add(metric)
      protocols.add(metric.protocolId)
      this.#lastMs = this.#time.nowMs()
      this.#isProtocolsTurn = !this.#isProtocolsTurn
      return metric
    }
  }

  /** Metrics of the newest hour whose protocol or id has failed at older hours only: one of each protocol, each id. */
  async newest(flush: ProbedFlush): Promise<readonly Metric[]> {
    const quarantine = this.#quarantine
    const nowMs = this.#time.nowMs()
    const probes: (Metric | undefined)[] = []
    for (const [id, hour] of quarantine.newHours) {
      const list = await flush.due(batchMetricsMax, [id], hour)
      probes.push(this.#oneOf(list.filter(metric => metric.hour === hour)))
    }
    if (!quarantine.isWithoutMetrics) {
      const list = await flush.due(dueListMax, this.#outside(flush))
      probes.push(...list.filter(metric => metric.hour >= flush.newestFirstFrom && quarantine.isUntried(metric, nowMs)))
    }
    return probes.filter(metric => metric !== undefined)
  }

  get #isTooSoon(): boolean {
    return isYetToCome(this.#lastMs + this.#restMs, this.#time.nowMs(), this.#restMs)
  }

  /** Of the protocols that are not in quarantine. */
  #outside({ protocolIds }: ProbedFlush): readonly string[] {
    return protocolIds.filter(id => !this.#quarantine.hasProtocol(id))
  }

  async #pick(flush: ProbedFlush, metrics: MetricSet, protocols: ReadonlySet<string>): Promise<Metric | undefined> {
    const ofProtocols = () => this.#ofProtocols(flush, protocols)
    const ofRows = () => this.#ofRows(flush, metrics)
    const [first, second] = this.#isProtocolsTurn ? [ofProtocols, ofRows] : [ofRows, ofProtocols]
    return (await first()) ?? (await second())
  }

  /** Draws another metric of a protocol each time, of its newest hour or any, in case the last one alone is at fault. */
  async #ofProtocols(flush: ProbedFlush, excludedIds: ReadonlySet<string>): Promise<Metric | undefined> {
    const quarantine = this.#quarantine
    const nowMs = this.#time.nowMs()
    for (const id of quarantine.protocolsToProbe(nowMs, flush.isAsked)) {
      if (excludedIds.has(id) || !flush.protocolIds.includes(id)) continue
      const hour = quarantine.hourToProbe(id)
      const list = await flush.due(dueListMax, [id], hour)
      const due = list.filter(metric => hour === undefined || metric.hour === hour)
      const free = due.filter(metric => quarantine.sendStateOf(metric, nowMs, flush.isAsked) === 'free')
      const metric = this.#oneOf(free.length > 0 ? free : due)
      if (metric) return metric
    }
    return undefined
  }

  async #ofRows(flush: ProbedFlush, excludedMetrics: MetricSet): Promise<Metric | undefined> {
    const quarantine = this.#quarantine
    if (quarantine.isWithoutMetrics) return undefined
    const nowMs = this.#time.nowMs()
    const isWanted = (metric: Metric) =>
      !excludedMetrics.has(metric) && quarantine.sendStateOf(metric, nowMs, flush.isAsked) === 'alone'
    const candidates = await dueWanted(
      limit => flush.due(limit, this.#outside(flush)),
      some => some.filter(isWanted),
      rowsToChooseMax,
      dueListMax,
    )
    // Another one each time: where a metric id fails for some hours only, its other hours must not wait behind them.
    const newest = candidates.filter(metric => metric.hour === candidates[0]?.hour && !quarantine.hasMetric(metric))
    return this.#oneOf(newest.length > 0 ? newest : candidates)
  }

  /** Draws one, from those that have not failed themselves if there are any. */
  #oneOf(metrics: readonly Metric[]): Metric | undefined {
    const untried = metrics.filter(metric => !this.#quarantine.hasMetric(metric))
    const from = untried.length > 0 ? untried : metrics
    return from[Math.floor(this.#time.chance() * from.length)]
  }
}
