import { hourNumber } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import { type Accepted, type Hold, type MetricState, unitHold } from '../../contract/metrics.ts'
import type { EnqueueMode } from '../../contract/outcome.ts'
import { type Corrections, isSameValue } from './corrections.ts'
import { type Enqueued, rowDigest } from './digest.ts'
import { descriptionAt, type KnownMetric, type MetricRegistry } from './metric-registry.ts'
import type { Metrics } from './metrics.ts'
import { type NewRow, NewRows } from './new-rows.ts'
import { stateNumber, stateOf } from './states.ts'
import { countByHour, type Tally } from './tally.ts'
import type { Unsent } from './unsent.ts'

/** A metric, its hour's collector, and the instant it is enqueued. */
interface EnqueueEntry extends NewRow {
  readonly metric: Metric
  readonly hold: Hold | undefined
  readonly known: KnownMetric
  readonly nowMs: number
}

interface ValueInState {
  readonly value: number
  readonly state: number
}

const nothing: Enqueued = { metrics: 0, corrected: 0, digest: 0 }

/** Writes new and corrected metrics. */
export class Enqueuing {
  readonly #registry: MetricRegistry
  readonly #tally: Tally
  readonly #metrics: Metrics
  readonly #corrections: Corrections
  readonly #unsent: Unsent
  readonly #newRows: NewRows
  readonly #statements

  constructor(
    database: Sqlite,
    registry: MetricRegistry,
    tally: Tally,
    metrics: Metrics,
    corrections: Corrections,
    unsent: Unsent,
  ) {
    this.#registry = registry
    this.#tally = tally
    this.#metrics = metrics
    this.#corrections = corrections
    this.#unsent = unsent
    this.#newRows = new NewRows(database)
    const byKey = 'WHERE hour = ? AND metric = ?'
    this.#statements = {
      stored: database.prepare<[number, number], ValueInState>(`SELECT value, state FROM outbox ${byKey}`),
      change: database.prepare<[number, number, number, number]>(`UPDATE outbox SET value = ?, state = ? ${byKey}`),
      detain: database.prepare<[number, number, string, string, string | null, number]>(
        'INSERT INTO detained (hour, metric, kind, reason, unit, at_ms) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      ),
      remark: database.prepare<[string, number, number]>(`UPDATE detained SET reason = reason || ? ${byKey}`),
      free: database.prepare<[number, number]>(`DELETE FROM detained ${byKey}`),
    }
  }

  /**
   * Enqueues metrics. The first value of a metric id locks its unit from that hour on; a value with another unit is
   * held. Within a transaction.
   *
   * @param collector must have been inserted before
   * @returns the counts of new and changed metrics
   */
  enqueue(accepted: readonly Accepted[], collector: string, mode: EnqueueMode, nowMs: number): Enqueued {
    const sum = { metrics: 0, corrected: 0, digest: 0 }
    for (const distinct of withoutRepeats(accepted)) {
      const entries = distinct.map(one => this.#entryOf(one, collector, nowMs))
      const stored = new Set(this.#newRows.insert(entries))
      this.#count(stored.size === 0 ? entries : entries.filter(entry => !stored.has(entry)))
      for (const entry of entries) {
        const isStored = stored.has(entry)
        if (isStored && mode === 'first-stands') continue
        const { metrics, corrected, digest } = isStored ? this.#correct(entry) : this.#entered(entry, mode)
        sum.metrics += metrics
        sum.corrected += corrected
        sum.digest += digest
      }
    }
    return sum
  }

  #entryOf({ metric, hold: suspected }: Accepted, collector: string, nowMs: number): EnqueueEntry {
    const hour = hourNumber(metric.hour)
    const known = this.#registry.add(metric.id, metric.protocolId, collector, hour, metric)
    const hold = suspected?.kind === 'unit' ? suspected : (otherUnit(metric, known, hour) ?? suspected)
    const state = stateNumber(hold ? 'held' : 'due')
    const { number, protocol } = known
    return { metric, hold, known, nowMs, hour, number, protocol, state, value: metric.value }
  }

  #count(inserted: readonly EnqueueEntry[]): void {
    for (const [protocol, own] of Map.groupBy(inserted, entry => entry.protocol)) {
      const [due, held] = [own.filter(({ hold }) => !hold), own.filter(({ hold }) => hold)]
      this.#tally.enter(protocol, 'due', countByHour(due))
      this.#tally.enter(protocol, 'held', countByHour(held))
    }
  }

  #entered(entry: EnqueueEntry, mode: EnqueueMode): Enqueued {
    const { metric, hold, known, hour } = entry
    if (hold) this.#detain(entry, hold)
    else this.#metrics.describeFrom(known, hour, metric)
    // A corrected metric without a row may have been delivered and pruned.
    if (mode === 'first-stands') this.#unsent.add(hour, known.number)
    return { metrics: 1, corrected: 0, digest: rowDigest(hour, known.number, metric.value) }
  }

  #correct(entry: EnqueueEntry): Enqueued {
    const { metric, known, hour } = entry
    const stored = this.#statements.stored.get(hour, known.number)
    if (!stored || isSameValue(stored.value, metric.value)) return nothing
    const from = stateOf(stored.state)
    if (from === 'dropped') return nothing
    const to = from === 'held' || entry.hold ? 'held' : 'due'
    this.#statements.change.run(metric.value, stateNumber(to), hour, known.number)
    if (from !== to) this.#tally.move(known.protocol, from, to, countByHour([entry]))
    this.#detainAnew(entry, from, stored.value)
    if (to === 'due') this.#metrics.describeFrom(known, hour, metric)
    // A held metric is on its way only if it was due before, and is listed then.
    if (from !== 'held') this.#corrections.add(hour, known.number, entry.nowMs)
    const digest = rowDigest(hour, known.number, metric.value) - rowDigest(hour, known.number, stored.value)
    return { metrics: 0, corrected: 1, digest }
  }

  #detainAnew(entry: EnqueueEntry, from: MetricState, before: number): void {
    const { metric, hold, known, hour } = entry
    if (from === 'held' && !hold) {
      this.#statements.remark.run(`; its value was ${before}, and is ${metric.value} now`, hour, known.number)
      return
    }
    this.#statements.free.run(hour, known.number)
    if (hold) this.#detain(entry, hold)
  }

  #detain({ metric, known, hour, nowMs }: EnqueueEntry, { kind, reason }: Hold): void {
    const unit = kind === 'unit' ? (metric.unit ?? null) : null
    this.#statements.detain.run(hour, known.number, kind, reason, unit, nowMs)
  }
}

/** Reason to hold a metric whose id's unit was changed since the value was judged. Only a person changes it again. */
function otherUnit(metric: Metric, known: KnownMetric, hour: number): Hold | undefined {
  return known.descriptions.length === 0 ? undefined : unitHold(metric, descriptionAt(known, hour))
}

/** Splits metrics so that none repeats a metric and hour: the row of the first must be there before the second is judged. */
function withoutRepeats(accepted: readonly Accepted[]): (readonly Accepted[])[] {
  const ids = new Set(accepted.map(({ metric }) => metric.id))
  return ids.size === accepted.length ? [accepted] : accepted.map(one => [one])
}
