import { type Hour, hourAfter, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import { jumpHoursMax } from '../../../model/limits.ts'
import type { Metric, MetricId } from '../../../model/metric.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { DeliveredHour } from '../../contract/hours.ts'
import type { MetricDescription, MetricKey, Past, StoredMetric, ValueAndState } from '../../contract/metrics.ts'
import { hourBounds } from './hour-rows.ts'
import { metricAt } from './metric-at.ts'
import { descriptionAt, type KnownMetric, type MetricRegistry } from './metric-registry.ts'
import { stateOf } from './states.ts'

interface RawStored {
  readonly hour: number
  readonly metric: number
  readonly value: number
  readonly state: number
  readonly reason: string | null
}

/** Reads metrics, and records their unit and module. */
export class Metrics {
  readonly #database: Sqlite
  readonly #registry: MetricRegistry
  readonly #statements

  constructor(database: Sqlite, registry: MetricRegistry) {
    this.#database = database
    this.#registry = registry
    this.#statements = {
      hasLater: database
        .prepare<[number, number], number>(
          'SELECT 1 FROM outbox WHERE hour > ? AND metric = ? AND state IN (0, 1) LIMIT 1',
        )
        .pluck(),
      accepted: database
        .prepare<[number, number], number>('SELECT value FROM outbox WHERE hour = ? AND metric = ? AND state IN (0, 1)')
        .pluck(),
      stored: database.prepare<[number, string], { value: number; state: number }>(
        'SELECT value, state FROM outbox WHERE hour = ? AND metric = (SELECT id FROM metric WHERE name = ?)',
      ),
      delivered: database.prepare<[number, string], { metric: number; value: number }>(
        `SELECT metric, value FROM outbox WHERE hour = ? AND state = 1
         AND protocol IN (SELECT id FROM protocol WHERE name IN (SELECT value FROM json_each(?))) LIMIT 1`,
      ),
      deliveredHours: database.prepare<[string, number, number], { collector: string; hour: number }>(
        `SELECT DISTINCT collector.name AS collector, hour FROM outbox
         JOIN metric ON metric.id = outbox.metric JOIN collector ON collector.id = metric.collector
         WHERE state = 1 AND collector.name IN (SELECT value FROM json_each(?)) AND hour BETWEEN ? AND ? ORDER BY hour, collector.name`,
      ),
      between: database.prepare<[number, number], RawStored>(
        `SELECT hour, metric, value, state, reason FROM outbox LEFT JOIN detained USING (hour, metric)
         WHERE hour BETWEEN ? AND ? AND state <> 4 ORDER BY hour, metric`,
      ),
    }
  }

  /**
   * Locks a metric's unit, and records its module, from an hour on, if they differ. Later hours keep theirs; the module of a past
   * hour does not change. Within a transaction.
   */
  describeFrom(known: KnownMetric, hour: number, { unit, module }: MetricDescription): void {
    const old = descriptionAt(known, hour)
    const isSameUnit = old.unit === unit
    const isPast = hour < (known.descriptions.at(-1)?.since ?? 0)
    if (isSameUnit && (old.module === module || isPast)) return
    if (!isSameUnit && this.#statements.hasLater.get(hour, known.number) !== undefined) {
      this.#registry.describe(known, hour + 1, descriptionAt(known, hour + 1))
    }
    this.#registry.describe(known, hour, { ...(unit === undefined ? {} : { unit }), ...(module && { module }) })
  }

  /** As `OperatorStore.changeUnit`. */
  changeUnit(metric: Pick<Metric, 'id' | 'hour' | 'unit' | 'module'>): void {
    this.#database
      .transaction(() => {
        this.#registry.refresh()
        const known = this.#registry.metric(metric.id)
        if (known) this.describeFrom(known, hourNumber(metric.hour), metric)
      })
      .immediate()
  }

  /** The stored facts about metric ids before an hour, in the order asked; `undefined` for an unknown id. */
  pasts(metrics: readonly MetricKey[]): (Past | undefined)[] {
    return this.#registry.reading(() => metrics.map(({ id, hour }) => this.#past(id, hour)))
  }

  #past(id: MetricId, hour: Hour): Past | undefined {
    const known = this.#registry.metric(id)
    // A metric whose description was lost is treated as new: its next value locks its unit.
    if (!known || known.descriptions.length === 0) return undefined
    const { unit } = descriptionAt(known, hourNumber(hour))
    const previous = this.#previous(known.number, hour)
    return { ...(unit === undefined ? {} : { unit }), ...(previous === undefined ? {} : { previous }) }
  }

  /** Value and state of a metric at an hour, dropped ones included; `undefined` when there is no row. */
  stored(id: MetricId, hour: Hour): ValueAndState | undefined {
    const row = this.#statements.stored.get(hourNumber(hour), id)
    return row && { value: row.value, state: stateOf(row.state) }
  }

  #previous(number: number, hour: Hour): Past['previous'] {
    for (let back = 1; back <= jumpHoursMax; back += 1) {
      const before = hourAfter(hour, -back)
      const value = this.#statements.accepted.get(hourNumber(before), number)
      if (value !== undefined) return { hour: before, value }
    }
    return undefined
  }

  /** A metric of an hour as it would be sent; `undefined` unless it is due or delivered. */
  present({ id, hour }: MetricKey): Metric | undefined {
    return this.#registry.reading(() => {
      const known = this.#registry.metric(id)
      const value = known && this.#statements.accepted.get(hourNumber(hour), known.number)
      return known && value !== undefined ? metricAt(known, hourNumber(hour), value) : undefined
    })
  }

  /** The newest delivered metric of some protocols within the day up to an hour. */
  lastDelivered(protocolIds: readonly string[], hour: Hour): Metric | undefined {
    return this.#registry.reading(() => this.#lastDelivered(protocolIds, hour))
  }

  #lastDelivered(protocolIds: readonly string[], hour: Hour): Metric | undefined {
    for (let back = 0; back <= jumpHoursMax; back += 1) {
      const at = hourNumber(hourAfter(hour, -back))
      const row = this.#statements.delivered.get(at, JSON.stringify(protocolIds))
      if (row) return metricAt(this.#registry.numbered(row.metric), at, row.value)
    }
    return undefined
  }

  /**
   * Hours of some collectors with a delivered metric that is not pruned, oldest first. Reads every row in the range.
   */
  deliveredHours(collectors: readonly string[], from?: Hour, to?: Hour): DeliveredHour[] {
    return this.#statements.deliveredHours
      .all(JSON.stringify(collectors), ...hourBounds(from, to))
      .map(({ collector, hour }) => ({ collector, hour: hourFromNumber(hour) }))
  }

  /** Every metric in a range of hours, both ends included, by hour; dropped ones are left out. */
  between(from: Hour, to: Hour): StoredMetric[] {
    return this.#registry.reading(() =>
      this.#statements.between.all(hourNumber(from), hourNumber(to)).map(row => this.#metricOf(row)),
    )
  }

  #metricOf({ hour, metric, value, state, reason }: RawStored): StoredMetric {
    const known = this.#registry.numbered(metric)
    const stored = { ...metricAt(known, hour, value), state: stateOf(state), collector: known.collector }
    return reason === null ? stored : { ...stored, reason }
  }
}
