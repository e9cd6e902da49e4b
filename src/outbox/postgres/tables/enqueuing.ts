import { hourNumber } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import type { Accepted, Hold, MetricState } from '../../contract/metrics.ts'
import type { EnqueueMode } from '../../contract/outcome.ts'
import { type Enqueued, rowDigest } from '../../rows/digest.ts'
import { holdAt } from '../../rows/known-metric.ts'
import { isSameValue } from '../../rows/run-values.ts'
import type { NewMetric } from '../../rows/runs-of.ts'
import { stateNumber, stateOf } from '../../rows/states.ts'
import type { Transaction } from '../connection/transaction.ts'
import { DetainedChanges } from './detained-changes.ts'
import type { EditedRuns } from './edited-runs.ts'
import type { RegisteredMetrics } from './registered-metrics.ts'
import { TallyChanges } from './tally-changes.ts'

/** A metric, its hour's collector, and the instant it is enqueued. */
interface EnqueuedValue extends NewMetric {
  readonly metric: Metric
  readonly hold: Hold | undefined
}

/** New and corrected metrics. */
interface EnqueueRequest {
  readonly accepted: readonly Accepted[]
  readonly mode: EnqueueMode
  readonly nowMs: number
}

/** New and corrected metrics, decided on in memory by a transaction that holds the locks of their protocols. */
export class EnqueueChanges {
  readonly #metrics: RegisteredMetrics
  readonly #runs: EditedRuns
  readonly #tally = new TallyChanges()
  readonly #detained = new DetainedChanges()
  readonly #corrections = new Map<string, readonly [hour: number, metric: number, atMs: number]>()
  readonly #earlier: (readonly [hour: number, metric: number, untilMs: number, value: number])[] = []
  readonly #entered: Metric[] = []

  constructor(metrics: RegisteredMetrics, runs: EditedRuns) {
    this.#metrics = metrics
    this.#runs = runs
  }

  /**
   * Enqueues metrics. The first value of a metric id locks its unit from that hour on; a value with another unit is held.
   *
   * @returns the counts of new and changed metrics
   */
  enqueue({ accepted, mode, nowMs }: EnqueueRequest): Enqueued {
    const entries = accepted.map(one => this.#entryOf(one, nowMs))
    const { stored, added, digest } = this.#runs.add(entries)
    for (const [at, , protocol, state, , , metrics] of added) this.#tally.enter(protocol, stateOf(state), at, metrics)
    const entered = entries.filter(entry => !stored.has(entry))
    for (const entry of entered) this.#enter(entry)
    const sum = { metrics: entered.length, corrected: 0, digest }
    // A corrected metric without a value may have been delivered and pruned.
    if (mode === 'first-stands') this.#entered.push(...entered.map(({ metric }) => metric))
    if (mode === 'first-stands') return sum
    for (const entry of stored) {
      const change = this.#correct(entry)
      if (change === undefined) continue
      sum.corrected += 1
      sum.digest += change
    }
    return sum
  }

  /** Metrics that no process can have sent before the commit. */
  get unsent(): readonly Metric[] {
    return this.#entered
  }

  /** Stores the changes. */
  write(transaction: Transaction): void {
    this.#runs.write(transaction)
    this.#tally.write(transaction)
    this.#detained.write(transaction)
    this.#metrics.write(transaction)
    this.#writeCorrections(transaction, [...this.#corrections.values()])
    if (this.#earlier.length === 0) return
    transaction.later(
      `INSERT INTO tidegauge.earlier_value (hour, metric, until_ms, value)
       SELECT * FROM unnest($1::integer[], $2::integer[], $3::bigint[], $4::double precision[]) ON CONFLICT DO NOTHING`,
      [0, 1, 2, 3].map(place => this.#earlier.map(row => row[place])),
    )
  }

  #writeCorrections(transaction: Transaction, corrections: readonly (readonly number[])[]): void {
    if (corrections.length === 0) return
    transaction.later(
      `INSERT INTO tidegauge.correction (hour, metric, at_ms) SELECT * FROM unnest($1::integer[], $2::integer[], $3::bigint[])
       ON CONFLICT (hour, metric) DO UPDATE SET at_ms = excluded.at_ms`,
      [0, 1, 2].map(place => corrections.map(row => row[place])),
    )
  }

  #entryOf({ metric, hold: suspected }: Accepted, nowMs: number): EnqueuedValue {
    const hour = hourNumber(metric.hour)
    const known = this.#metrics.metric(metric.id)
    const hold = holdAt(known, hour, metric, suspected)
    const { number, protocol } = known
    const state = stateNumber(hold ? 'held' : 'due')
    const atMs = { collectedMs: nowMs, deliveredMs: nowMs }
    return { metric, hold, hour, number, protocol, state, ...atMs, value: metric.value }
  }

  #enter(entry: EnqueuedValue): void {
    if (entry.hold) this.#detain(entry, entry.hold)
    else this.#metrics.describeFrom(entry.metric.id, entry.hour, entry.metric)
  }

  /** @returns the change of the hour's digest; `undefined` when the stored value stays */
  #correct(entry: EnqueuedValue): number | undefined {
    const { metric, hour, number, protocol, hold } = entry
    const stored = this.#runs.at(hour, number)
    if (!stored || isSameValue(stored.value, metric.value)) return undefined
    const from = stateOf(stored.state)
    if (from === 'dropped') return undefined
    const to = from === 'held' || hold ? 'held' : 'due'
    this.#runs.replace(hour, number, metric.value, stateNumber(to))
    if (from !== to) this.#tally.move(protocol, from, to, hour, 1)
    this.#detainAgain(entry, from, stored.value)
    this.#earlier.push([hour, number, entry.collectedMs, stored.value])
    if (to === 'due') this.#metrics.describeFrom(metric.id, hour, metric)
    // A held metric is on its way only if it was due before, and is listed then.
    if (from !== 'held') this.#corrections.set(`${hour} ${number}`, [hour, number, entry.collectedMs])
    return rowDigest(hour, number, metric.value) - rowDigest(hour, number, stored.value)
  }

  #detainAgain(entry: EnqueuedValue, from: MetricState, before: number): void {
    const { metric, hold, hour, number } = entry
    if (from === 'held' && !hold) {
      this.#detained.remark(hour, number, `; its value was ${before}, and is ${metric.value} now`)
      return
    }
    this.#detained.remove(hour, number)
    if (hold) this.#detain(entry, hold)
  }

  #detain({ metric, hour, number, collectedMs }: EnqueuedValue, hold: Hold): void {
    const unit = hold.kind === 'unit' ? metric.unit : undefined
    this.#detained.add({ hour, metric: number, ...hold, unit, sinceMs: collectedMs })
  }
}
