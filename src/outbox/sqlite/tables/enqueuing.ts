import { hourNumber } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import type { Accepted, Hold, MetricState } from '../../contract/metrics.ts'
import type { EnqueueMode } from '../../contract/outcome.ts'
import { type Enqueued, rowDigest } from '../../rows/digest.ts'
import { holdAt, type KnownMetric } from '../../rows/known-metric.ts'
import { isSameValue } from '../../rows/run-values.ts'
import type { NewMetric } from '../../rows/runs-of.ts'
import { stateNumber, stateOf } from '../../rows/states.ts'
import type { Corrections } from './corrections.ts'
import type { DeadAndHeld } from './dead-and-held.ts'
import type { EarlierValues } from './earlier-values.ts'
import type { MetricRegistry } from './metric-registry.ts'
import { type MetricRuns, type RunOfHour, spanOf } from './metric-runs.ts'
import type { Metrics } from './metrics.ts'
import { countByHour, type Tally } from './tally.ts'
import type { Unsent } from './unsent.ts'

/** A metric, its hour's collector, and the instant it is enqueued. */
interface EnqueueEntry extends NewMetric {
  readonly metric: Metric
  readonly hold: Hold | undefined
  readonly known: KnownMetric
}

/** Dependencies of `Enqueuing`. */
interface EnqueuingDeps {
  readonly registry: MetricRegistry
  readonly runs: MetricRuns
  readonly tally: Tally
  readonly metrics: Metrics
  readonly deadAndHeld: DeadAndHeld
  readonly corrections: Corrections
  readonly earlierValues: EarlierValues
  readonly unsent: Unsent
}

/** Writes new and corrected metrics. */
export class Enqueuing {
  readonly #deps: EnqueuingDeps

  constructor(deps: EnqueuingDeps) {
    this.#deps = deps
  }

  /**
   * Enqueues metrics. The first value of a metric id locks its unit from that hour on; a value with another unit is
   * held. Within a transaction.
   *
   * @param collector must have been inserted before
   * @returns the counts of new and changed metrics
   */
  enqueue(accepted: readonly Accepted[], collector: string, mode: EnqueueMode, nowMs: number): Enqueued {
    const entries = accepted.map(one => this.#entryOf(one, collector, nowMs))
    const { stored, added, digest } = this.#deps.runs.insert(entries)
    this.#count(added)
    // A corrected metric without a value may have been delivered and pruned.
    if (mode === 'first-stands') for (const run of added) this.#deps.unsent.add(run.hour, spanOf(run))
    const isStored = new Set(stored)
    const entered = stored.length === 0 ? entries : entries.filter(entry => !isStored.has(entry))
    for (const entry of entered) this.#entered(entry)
    const sum = { metrics: entered.length, corrected: 0, digest }
    if (mode === 'first-stands') return sum
    for (const entry of entries) {
      const change = isStored.has(entry) ? this.#correct(entry) : undefined
      if (change === undefined) continue
      sum.corrected += 1
      sum.digest += change
    }
    return sum
  }

  #entryOf({ metric, hold: suspected }: Accepted, collector: string, nowMs: number): EnqueueEntry {
    const hour = hourNumber(metric.hour)
    const known = this.#deps.registry.add(metric.id, metric.protocolId, collector, hour, metric)
    const hold = holdAt(known, hour, metric, suspected)
    const state = stateNumber(hold ? 'held' : 'due')
    const { number, protocol } = known
    const atMs = { collectedMs: nowMs, deliveredMs: nowMs }
    return { metric, hold, known, hour, number, protocol, state, ...atMs, value: metric.value }
  }

  #count(added: readonly RunOfHour[]): void {
    for (const [protocol, own] of Map.groupBy(added, run => run.protocol)) {
      for (const [state, some] of Map.groupBy(own, run => run.state)) {
        this.#deps.tally.enter(protocol, stateOf(state), countByHour(some))
      }
    }
  }

  #entered(entry: EnqueueEntry): void {
    const { metric, hold, known, hour } = entry
    if (hold) this.#detain(entry, hold)
    else this.#deps.metrics.describeFrom(known, hour, metric)
  }

  /** @returns the change of the hour's digest; `undefined` when the stored value stays */
  #correct(entry: EnqueueEntry): number | undefined {
    const { metric, known, hour } = entry
    const stored = this.#deps.runs.at(hour, known.number)
    if (!stored || isSameValue(stored.value, metric.value)) return undefined
    const from = stateOf(stored.state)
    if (from === 'dropped') return undefined
    const to = from === 'held' || entry.hold ? 'held' : 'due'
    this.#deps.earlierValues.add(hour, known.number, stored.value, entry.collectedMs)
    this.#deps.runs.replace(hour, known.number, metric.value, stateNumber(to))
    if (from !== to) this.#deps.tally.move(known.protocol, from, to, new Map([[hour, 1]]))
    this.#detainAgain(entry, from, stored.value)
    if (to === 'due') this.#deps.metrics.describeFrom(known, hour, metric)
    // A held metric is on its way only if it was due before, and is listed then.
    if (from !== 'held') this.#deps.corrections.add(hour, known.number, entry.collectedMs)
    return rowDigest(hour, known.number, metric.value) - rowDigest(hour, known.number, stored.value)
  }

  #detainAgain(entry: EnqueueEntry, from: MetricState, before: number): void {
    const { metric, hold, known, hour } = entry
    if (from === 'held' && !hold) {
      this.#deps.deadAndHeld.remark(hour, known.number, `; its value was ${before}, and is ${metric.value} now`)
      return
    }
    this.#deps.deadAndHeld.remove(hour, known.number)
    if (hold) this.#detain(entry, hold)
  }

  #detain({ metric, known, hour, collectedMs }: EnqueueEntry, hold: Hold): void {
    const unit = hold.kind === 'unit' ? metric.unit : undefined
    this.#deps.deadAndHeld.add({ hour, metric: known.number, ...hold, unit, sinceMs: collectedMs })
  }
}
