import { type Hour, hourAfter, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import { jumpHoursMax } from '../../../model/limits.ts'
import type { Metric, MetricId } from '../../../model/metric.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { DeliveredHour } from '../../contract/hours.ts'
import type { MetricDescription, MetricKey, Past, StoredMetric, ValueAndState } from '../../contract/metrics.ts'
import { hourBounds } from '../../rows/hour-rows.ts'
import { describedFrom, type KnownMetric, pastAt } from '../../rows/known-metric.ts'
import { metricAt } from '../../rows/metric-at.ts'
import { valueAt, valuesOf } from '../../rows/run-values.ts'
import { stateNumber, stateOf } from '../../rows/states.ts'
import type { MetricRegistry } from './metric-registry.ts'
import type { MetricRuns } from './metric-runs.ts'

interface RawRunOfHour {
  readonly hour: number
  readonly first: number
  readonly state: number
  readonly bytes: Buffer
}

interface RawReason {
  readonly hour: number
  readonly metric: number
  readonly reason: string
}

/** Reads metrics, and records their unit and module. */
export class Metrics {
  readonly #database: Sqlite
  readonly #registry: MetricRegistry
  readonly #runs: MetricRuns
  readonly #statements

  constructor(database: Sqlite, { registry, runs }: { readonly registry: MetricRegistry; readonly runs: MetricRuns }) {
    this.#database = database
    this.#registry = registry
    this.#runs = runs
    this.#statements = {
      hasLater: database
        .prepare<[number, number, number], number>(
          'SELECT 1 FROM outbox WHERE hour > ? AND first <= ? AND first + metrics > ? AND state IN (0, 1) LIMIT 1',
        )
        .pluck(),
      delivered: database.prepare<[number, string], { first: number; bytes: Buffer }>(
        `SELECT first, metric_values AS bytes FROM outbox WHERE hour = ? AND state = 1
         AND protocol IN (SELECT id FROM protocol WHERE name IN (SELECT value FROM json_each(?))) LIMIT 1`,
      ),
      deliveredRuns: database
        .prepare<[number, number], [hour: number, first: number, metrics: number]>(
          'SELECT hour, first, metrics FROM outbox WHERE state = 1 AND hour BETWEEN ? AND ? ORDER BY hour',
        )
        .raw(),
      between: database.prepare<[number, number], RawRunOfHour>(
        `SELECT hour, first, state, metric_values AS bytes FROM outbox
         WHERE hour BETWEEN ? AND ? AND state <> 4 ORDER BY hour, first`,
      ),
      ids: database.prepare<[], number>('SELECT id FROM metric').pluck(),
      reasons: database.prepare<[number, number], RawReason>(
        'SELECT hour, metric, reason FROM detained WHERE hour BETWEEN ? AND ?',
      ),
    }
  }

  /**
   * Locks a metric's unit, and records its module, from an hour on, if they differ. Later hours keep theirs; the module of a past
   * hour does not change. Within a transaction.
   */
  describeFrom(known: KnownMetric, hour: number, description: MetricDescription): void {
    const hasLater = () => this.#statements.hasLater.get(hour, known.number, known.number) !== undefined
    for (const { since, ...own } of describedFrom(known, hour, description, hasLater)) {
      this.#registry.describe(known, since, own)
    }
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
    return this.#registry.reading(() => {
      const accepted = this.#accepted()
      return metrics.map(({ id, hour }) => this.#past(id, hour, accepted))
    })
  }

  #past(id: MetricId, hour: Hour, accepted: AcceptedValue): Past | undefined {
    const known = this.#registry.metric(id)
    return pastAt(known, hourNumber(hour), () => known && previousOf(known.number, hour, accepted))
  }

  /** Value and state of a metric at an hour, dropped ones included; `undefined` when there is no row. */
  stored(id: MetricId, hour: Hour): ValueAndState | undefined {
    return this.#registry.reading(() => {
      const stored = this.#runs.at(hourNumber(hour), this.#registry.metric(id)?.number ?? 0)
      return stored && { value: stored.value, state: stateOf(stored.state) }
    })
  }

  /** @returns a function that gives the value of a due or delivered metric */
  #accepted(): AcceptedValue {
    const look = this.#runs.looking()
    return (hour, number) => {
      const stored = look(hour, number)
      return stored && accepting.has(stored.state) ? stored.value : undefined
    }
  }

  /** A metric of an hour as it would be sent; `undefined` unless it is due or delivered. */
  present({ id, hour }: MetricKey): Metric | undefined {
    return this.#registry.reading(() => {
      const known = this.#registry.metric(id)
      const value = known && this.#accepted()(hourNumber(hour), known.number)
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
      if (row) return metricAt(this.#registry.numbered(row.first), at, valueAt(row.bytes, 0))
    }
    return undefined
  }

  /**
   * Hours of some collectors with a delivered metric that is not pruned, oldest first. Reads every row in the range.
   */
  deliveredHours(collectors: readonly string[], from?: Hour, to?: Hour): DeliveredHour[] {
    const asked = new Set(collectors)
    return this.#registry.reading(() => {
      // Runs of other hours mostly have the same numbers.
      const collectorsByRun = new Map<string, readonly string[]>()
      const byHour = new Map<number, Set<string>>()
      for (const [hour, first, metrics] of this.#statements.deliveredRuns.all(...hourBounds(from, to))) {
        const key = `${first} ${metrics}`
        const own = collectorsByRun.get(key) ?? this.#collectorsOf(first, metrics).filter(id => asked.has(id))
        collectorsByRun.set(key, own)
        const known = byHour.get(hour) ?? new Set()
        byHour.set(hour, known)
        for (const collector of own) known.add(collector)
      }
      return [...byHour].flatMap(([hour, found]) =>
        [...found].sort().map(collector => ({ collector, hour: hourFromNumber(hour) })),
      )
    })
  }

  #collectorsOf(first: number, metrics: number): string[] {
    const all = Array.from({ length: metrics }, (_, place) => this.#registry.numbered(first + place).collector)
    return [...new Set(all)]
  }

  /** Every metric in a range of hours, both ends included, by hour; dropped ones are left out. */
  between(from: Hour, to: Hour): StoredMetric[] {
    return this.#registry.reading(() => {
      const range = [hourNumber(from), hourNumber(to)] as const
      const reasons = this.#reasons(...range)
      return this.#statements.between.all(...range).flatMap(run => this.#metricsOf(run, reasons))
    })
  }

  /** As `StatusStore.newest`: hour by hour backwards, until each metric has been found. */
  newest(from: Hour, to: Hour): StoredMetric[] {
    const { ids, between } = this.#statements
    return this.#registry.reading(() => {
      const reasons = this.#reasons(hourNumber(from), hourNumber(to))
      const left = new Set(ids.all())
      const found = new Map<number, StoredMetric>()
      for (let hour = hourNumber(to); hour >= hourNumber(from) && left.size > 0; hour -= 1) {
        for (const run of between.all(hour, hour)) {
          for (const [place, value] of valuesOf(run.bytes).entries()) {
            const number = run.first + place
            if (left.delete(number)) found.set(number, this.#metricOf(run, number, value, reasons))
          }
        }
      }
      return [...found].sort(([a], [b]) => a - b).map(([, metric]) => metric)
    })
  }

  #reasons(from: number, to: number): ReadonlyMap<string, string> {
    return new Map(
      this.#statements.reasons.all(from, to).map(({ hour, metric, reason }) => [`${hour} ${metric}`, reason]),
    )
  }

  #metricsOf(run: RawRunOfHour, reasons: ReadonlyMap<string, string>): StoredMetric[] {
    return valuesOf(run.bytes).map((value, place) => this.#metricOf(run, run.first + place, value, reasons))
  }

  #metricOf(
    { hour, state: rawState }: Pick<RawRunOfHour, 'hour' | 'state'>,
    number: number,
    value: number,
    reasons: ReadonlyMap<string, string>,
  ): StoredMetric {
    const state = stateOf(rawState)
    const known = this.#registry.numbered(number)
    const stored = { ...metricAt(known, hour, value), state, collector: known.collector }
    const isDetained = state === 'dead' || state === 'held'
    const reason = isDetained ? reasons.get(`${hour} ${number}`) : undefined
    return reason === undefined ? stored : { ...stored, reason }
  }
}

type AcceptedValue = (hour: number, number: number) => number | undefined

const accepting: ReadonlySet<number> = new Set([stateNumber('due'), stateNumber('delivered')])

function previousOf(number: number, hour: Hour, accepted: AcceptedValue): Past['previous'] {
  for (let back = 1; back <= jumpHoursMax; back += 1) {
    const before = hourAfter(hour, -back)
    const value = accepted(hourNumber(before), number)
    if (value !== undefined) return { hour: before, value }
  }
  return undefined
}
