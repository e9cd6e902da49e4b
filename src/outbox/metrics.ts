import { type Hour, hourAfter, hourNumber } from '../model/hour.ts'
import { jumpHoursMax } from '../model/limits.ts'
import type { Metric, MetricId } from '../model/metric.ts'
import type { DeadMetric } from '../model/verdict.ts'
import type { Sqlite } from '../sqlite/database.ts'
import { type Enqueued, rowDigest } from './digest.ts'
import { metricAt } from './metric-at.ts'
import { type Description, descriptionAt, type KnownMetric, type Names } from './names.ts'
import { type MetricState, stateNumber, stateOf } from './states.ts'
import type { Tally } from './tally.ts'

/** Why a person has to look at a metric before it is sent. */
export interface Hold {
  readonly kind: 'bounds' | 'jump' | 'unit'
  /** A sentence with the facts. */
  readonly reason: string
}

/** A metric on its way in. */
export interface Accepted {
  readonly metric: Metric
  readonly hold?: Hold
}

/** A metric the service will never take, and how often it was sent. */
export interface DeadLetter extends DeadMetric {
  readonly attempts: number
}

/** A metric with what became of it. */
export interface StoredMetric extends Metric {
  readonly state: MetricState
  readonly collector: string
  /** Why it is dead or held. */
  readonly reason?: string
}

/** What is known of a metric id when a new value of it comes in. */
export interface Past {
  /** Its unit at that hour, pinned by the first value; absent for a metric without one. */
  readonly unit?: string
  /** Its last value before that hour, of the last day; absent when there is none. */
  readonly previous?: number
}

interface Stored {
  readonly number: number
  readonly protocol: number
  readonly isNew: boolean
}

/** Rows of one hour whose metrics have numbers in a row, none left out. */
interface Run {
  readonly hour: number
  readonly from: number
  to: number
}

interface RawStored {
  readonly hour: number
  readonly metric: number
  readonly value: number
  readonly state: number
  readonly reason: string | null
}

/** The metrics of the outbox: enqueued once, settled by a verdict. Part of the outbox's file. */
export class Metrics {
  readonly #names: Names
  readonly #tally: Tally
  readonly #statements

  constructor(database: Sqlite, names: Names, tally: Tally) {
    this.#names = names
    this.#tally = tally
    this.#statements = {
      add: database.prepare<[number, number, number, number, number]>(
        'INSERT INTO outbox (hour, metric, protocol, state, value) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      ),
      // One statement for metrics with numbers in a row: a third of the cost of one for each.
      settle: database.prepare<[number, number, number, number]>(
        'UPDATE outbox SET state = ? WHERE hour = ? AND metric BETWEEN ? AND ? AND state = 0',
      ),
      detain: database.prepare<[number, number, string, string, number | null, number | null, string | null, number]>(
        `INSERT INTO detained (hour, metric, kind, reason, status, attempts, unit, at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING`,
      ),
      hasLater: database
        .prepare<[number, number], number>(
          'SELECT 1 FROM outbox WHERE hour > ? AND metric = ? AND state IN (0, 1) LIMIT 1',
        )
        .pluck(),
      accepted: database
        .prepare<[number, number], number>('SELECT value FROM outbox WHERE hour = ? AND metric = ? AND state IN (0, 1)')
        .pluck(),
      entry: database.prepare<[number, string], { value: number; state: number }>(
        'SELECT value, state FROM outbox WHERE hour = ? AND metric = (SELECT id FROM metric WHERE name = ?)',
      ),
      delivered: database.prepare<[number, string], { metric: number; value: number }>(
        `SELECT metric, value FROM outbox WHERE hour = ? AND state = 1
         AND protocol IN (SELECT id FROM protocol WHERE name IN (SELECT value FROM json_each(?))) LIMIT 1`,
      ),
      between: database.prepare<[number, number], RawStored>(
        `SELECT hour, metric, value, state, reason FROM outbox LEFT JOIN detained USING (hour, metric)
         WHERE hour BETWEEN ? AND ? AND state <> 4 ORDER BY hour, metric`,
      ),
    }
  }

  /**
   * Puts metrics into the outbox; the first value of a metric and hour stands for ever, and its unit is the metric's from
   * that hour on, unless it is held. Within a transaction.
   *
   * @param collector must be known to the outbox
   * @returns what is new
   */
  enqueue(entries: readonly Accepted[], collector: string, nowMs: number): Enqueued {
    const counts = { due: new Map<number, number>(), held: new Map<number, number>() }
    let [metrics, digest] = [0, 0]
    for (const entry of entries) {
      const { number, protocol, isNew } = this.#enqueueOne(entry, collector, nowMs)
      if (!isNew) continue
      metrics += 1
      digest += rowDigest(hourNumber(entry.metric.hour), number, entry.metric.value)
      const count = entry.hold ? counts.held : counts.due
      count.set(protocol, (count.get(protocol) ?? 0) + 1)
    }
    for (const [protocol, count] of counts.due) this.#tally.enter(protocol, 'due', count)
    for (const [protocol, count] of counts.held) this.#tally.enter(protocol, 'held', count)
    return { metrics, digest }
  }

  #enqueueOne({ metric, hold }: Accepted, collector: string, nowMs: number): Stored {
    const hour = hourNumber(metric.hour)
    const known = this.#names.add(metric.id, metric.protocolId, collector, hour, metric)
    const { number, protocol } = known
    const state = stateNumber(hold ? 'held' : 'due')
    const isNew = this.#statements.add.run(hour, number, protocol, state, metric.value).changes === 1
    if (isNew && hold) {
      const unit = hold.kind === 'unit' ? (metric.unit ?? null) : null
      this.#statements.detain.run(hour, number, hold.kind, hold.reason, null, null, unit, nowMs)
    } else if (isNew) this.describe(known, hour, metric)
    return { number, protocol, isNew }
  }

  /**
   * Describes a metric from an hour on, where that is something new; hours after it that are under way keep what they
   * have. A new module of a past hour changes nothing. Within a transaction.
   */
  describe(known: KnownMetric, hour: number, { unit, module }: Description): void {
    const old = descriptionAt(known, hour)
    const isSameUnit = old.unit === unit
    const isPast = hour < (known.descriptions.at(-1)?.since ?? 0)
    if (isSameUnit && (old.module === module || isPast)) return
    if (!isSameUnit && this.#statements.hasLater.get(hour, known.number) !== undefined) {
      this.#names.describe(known, hour + 1, descriptionAt(known, hour + 1))
    }
    this.#names.describe(known, hour, { ...(unit === undefined ? {} : { unit }), ...(module && { module }) })
  }

  /** Records that the service has them. Only what is due can be delivered. Within a transaction. */
  markDelivered(metrics: readonly Metric[]): void {
    for (const [protocolId, own] of Map.groupBy(metrics, ({ protocolId }) => protocolId)) {
      this.#tally.move(this.#names.protocol(protocolId) ?? 0, 'due', 'delivered', this.#settle(own, 'delivered'))
    }
  }

  /** Records that the service will never take it; it is kept for a person. Within a transaction. */
  markDead({ metric, reason, status, attempts }: DeadLetter, nowMs: number): void {
    const known = this.#names.metric(metric.id)
    if (!known || this.#settle([metric], 'dead') === 0) return
    this.#tally.move(known.protocol, 'due', 'dead', 1)
    const { detain } = this.#statements
    detain.run(hourNumber(metric.hour), known.number, 'refused', reason, status ?? null, attempts, null, nowMs)
  }

  /** @returns how many of them were due */
  #settle(metrics: readonly Metric[], state: 'delivered' | 'dead'): number {
    const settle = ({ hour, from, to }: Run) => this.#statements.settle.run(stateNumber(state), hour, from, to).changes
    return this.#runs(metrics).reduce((sum, run) => sum + settle(run), 0)
  }

  /** Those of a batch mostly have numbers in a row. */
  #runs(metrics: readonly Metric[]): Run[] {
    const runs: Run[] = []
    for (const metric of metrics) {
      const number = this.#names.metric(metric.id)?.number
      if (number === undefined) continue
      const hour = hourNumber(metric.hour)
      const last = runs.at(-1)
      if (last?.hour === hour && last.to + 1 === number) last.to = number
      else runs.push({ hour, from: number, to: number })
    }
    return runs
  }

  /** What is known of a metric id for an hour; `undefined` for one that never was in the outbox. */
  past(id: MetricId, hour: Hour): Past | undefined {
    this.#names.refresh()
    const known = this.#names.metric(id)
    // One whose description was lost is as good as new: its next value pins its unit.
    if (!known || known.descriptions.length === 0) return undefined
    const { unit } = descriptionAt(known, hourNumber(hour))
    const previous = this.#previous(known.number, hour)
    return { ...(unit === undefined ? {} : { unit }), ...(previous === undefined ? {} : { previous }) }
  }

  /** What the outbox has of a metric id for an hour, also when a person dropped it; `undefined` when nothing. */
  entry(id: MetricId, hour: Hour): { readonly value: number; readonly state: MetricState } | undefined {
    const row = this.#statements.entry.get(hourNumber(hour), id)
    return row && { value: row.value, state: stateOf(row.state) }
  }

  #previous(number: number, hour: Hour): number | undefined {
    for (let back = 1; back <= jumpHoursMax; back += 1) {
      const value = this.#statements.accepted.get(hourNumber(hourAfter(hour, -back)), number)
      if (value !== undefined) return value
    }
    return undefined
  }

  /** A metric of some protocols that was delivered for an hour or one of the day before, the newest. */
  lastDelivered(protocolIds: readonly string[], hour: Hour): Metric | undefined {
    this.#names.refresh()
    for (let back = 0; back <= jumpHoursMax; back += 1) {
      const at = hourNumber(hourAfter(hour, -back))
      const row = this.#statements.delivered.get(at, JSON.stringify(protocolIds))
      if (row) return metricAt(this.#names.numbered(row.metric), at, row.value)
    }
    return undefined
  }

  /** Every metric of a range of hours, both ends included, by hour; without what a person dropped. */
  between(from: Hour, to: Hour): StoredMetric[] {
    this.#names.refresh()
    return this.#statements.between
      .all(hourNumber(from), hourNumber(to))
      .map(({ hour, metric, value, state, reason }) => {
        const known = this.#names.numbered(metric)
        const stored = { ...metricAt(known, hour, value), state: stateOf(state), collector: known.collector }
        return reason === null ? stored : { ...stored, reason }
      })
  }
}
