import type { Time } from '../../edge/time.ts'
import { isYetToCome } from '../../model/backoff.ts'
import type { Hour } from '../../model/hour.ts'
import { batchMetricsMax, duePageMax } from '../../model/limits.ts'
import type { Metric } from '../../model/metric.ts'
import type { MetricList } from '../../model/metric-list.ts'
import { MetricSet } from '../../model/metric-set.ts'
import type { Quarantine } from '../isolate/quarantine.ts'
import { dueWanted } from './due-wanted.ts'
import { quarantinePacePart } from './limits.ts'

/** Dependencies of `QuarantineProbes`. */
export interface ProbesDeps {
  readonly quarantine: Quarantine
  readonly time: Time
  /** Configured pause between two requests to the service. */
  readonly intervalMs: number
}

/** Metrics among which a probe is drawn. */
const rowsToChooseMax = 50

/** The parameters of one flush. */
export interface ProbesOf {
  /** Whether a person wants everything tried at once. */
  readonly isAsked: boolean
  /** All protocols of the destination. */
  readonly protocolIds: readonly string[]
  /** Reads due metrics. @param newestFirstFrom hours from there on go first; default: as in the flush */
  due(protocolIds: readonly string[], limit: number, newestFirstFrom?: Hour): Promise<MetricList>
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
      const page = await read([id], batchMetricsMax, hour)
      found.push(this.#oneOf(page.filter(metric => metric.hour === hour)))
    }
    if (!quarantine.isWithoutMetrics) {
      const page = await read(
        protocolIds.filter(id => !quarantine.hasProtocol(id)),
        duePageMax,
      )
      found.push(...page.filter(metric => metric.hour >= newestFirstFrom && quarantine.isUntried(metric, nowMs)))
    }
    return found.filter(metric => metric !== undefined)
  }

  get #isTooSoon(): boolean {
    const { intervalMs, time } = this.#deps
    const restMs = intervalMs / quarantinePacePart
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
      const page = await read([id], duePageMax, hour)
      const due = page.filter(metric => hour === undefined || metric.hour === hour)
      const free = due.filter(metric => quarantine.standing(metric, nowMs, isAsked) === 'free')
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
    const isWanted = (metric: Metric) => !tried.has(metric) && quarantine.standing(metric, nowMs, isAsked) === 'alone'
    const wanted = await dueWanted(
      limit => read(ids, limit),
      some => some.filter(isWanted),
      rowsToChooseMax,
      duePageMax,
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
