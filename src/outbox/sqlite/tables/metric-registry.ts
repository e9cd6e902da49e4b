import type { MetricId, MetricSeries } from '../../../model/metric.ts'
import type { MetricRun } from '../../../model/metric-run.ts'
import { DamageError } from '../../../sqlite/damage.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { MetricDescription } from '../../contract/metrics.ts'
import type { KnownMetric } from '../../rows/known-metric.ts'
import { runMetricsMax } from '../../rows/run-values.ts'
import { SeriesLists } from './series-lists.ts'

interface RawMetric {
  readonly number: number
  readonly id: string
  readonly protocol: number
  readonly protocolId: string
  readonly collector: string
}

/** Consecutive numbers of metrics of one protocol. */
export interface NumberSpan {
  readonly first: number
  readonly last: number
}

interface RawDescription {
  readonly metric: number
  readonly since: number
  readonly unit: string | null
  readonly module: string | null
}

const metricColumns = `SELECT metric.id AS number, metric.name AS id, metric.protocol, protocol.name AS protocolId, collector.name AS collector
  FROM metric JOIN protocol ON protocol.id = metric.protocol JOIN collector ON collector.id = metric.collector`

/**
 * Maps metric and protocol ids to the numbers that rows hold, and to units. Cached until another connection writes to
 * the file.
 */
export class MetricRegistry {
  readonly #statements
  readonly #byId = new Map<string, KnownMetric>()
  readonly #byNumber: (KnownMetric | undefined)[] = []
  readonly #protocols = new Map<string, number>()
  readonly #spans = new Map<number, readonly NumberSpan[]>()
  readonly #series = new SeriesLists(number => this.numbered(number))
  readonly #look: <T>(act: () => T) => T
  #version: number | undefined
  /** Whether the version was read in this turn of the event loop: since the last time that immediates ran. */
  #isVersionOfTurn = false

  constructor(database: Sqlite) {
    const look = database.transaction((act: () => unknown) => {
      this.refresh()
      return act()
    })
    this.#look = <T>(act: () => T) => look(act) as T
    this.#statements = {
      version: database.prepare<[], number>('PRAGMA data_version').pluck(),
      byId: database.prepare<[string], RawMetric>(`${metricColumns} WHERE metric.name = ?`),
      byNumber: database.prepare<[number, number], RawMetric>(`${metricColumns} WHERE metric.id BETWEEN ? AND ?`),
      descriptions: database.prepare<[number, number], RawDescription>(
        'SELECT metric, since, unit, module FROM description WHERE metric BETWEEN ? AND ? ORDER BY metric, since',
      ),
      protocol: database.prepare<[string], number>('SELECT id FROM protocol WHERE name = ?').pluck(),
      spans: database.prepare<[number], NumberSpan>(
        `SELECT min(id) AS first, max(id) AS last
         FROM (SELECT id, id - row_number() OVER (ORDER BY id) AS span FROM metric WHERE protocol = +?) GROUP BY span ORDER BY first`,
      ),
      addProtocol: database.prepare<[string]>('INSERT INTO protocol (name) VALUES (?) ON CONFLICT DO NOTHING'),
      addMetric: database.prepare<[string, number, string]>(
        `INSERT INTO metric (name, protocol, collector) SELECT ?, ?, id FROM collector WHERE name = ?
         ON CONFLICT (name) DO UPDATE SET collector = excluded.collector`,
      ),
      describe: database.prepare<[number, number, string | null, string | null]>(
        `INSERT INTO description (metric, since, unit, module) VALUES (?, ?, ?, ?)
         ON CONFLICT (metric, since) DO UPDATE SET unit = excluded.unit, module = excluded.module`,
      ),
    }
  }

  /** Clears the cache if another connection has written. Call it first in a transaction. */
  refresh(): void {
    const version = this.#statements.version.get()
    if (version !== this.#version) this.forget()
    this.#version = version
    if (this.#isVersionOfTurn) return
    this.#isVersionOfTurn = true
    setImmediate(() => {
      this.#isVersionOfTurn = false
    })
  }

  /** A number that changes when another connection has written; outside transactions it is read once a turn. */
  get version(): number | undefined {
    if (!this.#isVersionOfTurn) this.refresh()
    return this.#version
  }

  /**
   * Reads rows and metric descriptions as of one instant, so that a unit that another process changes is never mixed
   * with older rows. Everything that turns rows into metrics runs inside.
   */
  reading<T>(act: () => T): T {
    return this.#look(act)
  }

  /** Clears the cache, as after a rollback. */
  forget(): void {
    this.#byId.clear()
    this.#byNumber.length = 0
    this.#protocols.clear()
    this.#spans.clear()
    this.#series.clear()
  }

  /** A metric by its id; `undefined` when unknown. */
  metric(id: string): KnownMetric | undefined {
    const known = this.#byId.get(id)
    if (known) return known
    const raw = this.#statements.byId.get(id)
    if (raw) this.#remember([raw], raw.number, raw.number)
    return this.#byId.get(id)
  }

  /**
   * The spans of numbers of a run's metrics, in their order; those that are not known are left out. They are not looked up
   * for a run that was read from this file: numbers never change.
   */
  spansOf({ place, series }: MetricRun): readonly NumberSpan[] {
    if (place?.store === this) return [{ first: place.first, last: place.first + series.length - 1 }]
    const spans: { readonly first: number; last: number }[] = []
    for (const { id } of series) {
      const number = this.metric(id)?.number
      const last = spans.at(-1)
      if (number === undefined) continue
      if (last?.last === number - 1) last.last = number
      else spans.push({ first: number, last: number })
    }
    return spans
  }

  /** As `SeriesLists.of`. */
  series({ first, last }: NumberSpan, hour: number): readonly MetricSeries[] {
    return this.#series.of(first, last, hour)
  }

  /** A metric by its number. Every row's number is known. */
  numbered(number: number): KnownMetric {
    const known = this.#byNumber[number] ?? this.#read(number)
    if (!known) throw new DamageError(`no metric has the number ${number}`)
    return known
  }

  /** A protocol's number; `undefined` for one without a metric. */
  protocol(name: string): number | undefined {
    const known = this.#protocols.get(name)
    if (known !== undefined) return known
    const number = this.#statements.protocol.get(name)
    if (number !== undefined) this.#protocols.set(name, number)
    return number
  }

  /**
   * Inserts a metric, or gives it to another collector. Within a transaction.
   *
   * @param since first hour of the description, in hours since 1970; used only for a new metric
   */
  add(id: MetricId, protocolId: string, collector: string, since: number, description: MetricDescription): KnownMetric {
    const before = this.metric(id)
    if (before?.collector === collector) return before
    if (this.protocol(protocolId) === undefined) this.#statements.addProtocol.run(protocolId)
    const protocol = this.protocol(protocolId) ?? 0
    const { changes, lastInsertRowid } = this.#statements.addMetric.run(id, protocol, collector)
    if (changes === 0) throw new Error(`no collector ${collector} is known to the outbox`)
    if (before) return this.#keep({ ...before, collector })
    this.#spans.delete(protocol)
    const number = Number(lastInsertRowid)
    const { unit, module } = description
    this.#statements.describe.run(number, since, unit ?? null, module ?? null)
    const described = { since, ...(unit === undefined ? {} : { unit }), ...(module === undefined ? {} : { module }) }
    return this.#keep({ number, id, protocol, protocolId, collector, descriptions: [described] })
  }

  /** Sets unit and module of a metric from an hour on. Within a transaction. */
  describe({ number, id }: KnownMetric, since: number, { unit, module }: MetricDescription): KnownMetric {
    this.#statements.describe.run(number, since, unit ?? null, module ?? null)
    this.#byId.delete(id)
    this.#byNumber[number] = undefined
    this.#series.changed(number)
    this.#remember(this.#statements.byNumber.all(number, number), number, number)
    return this.numbered(number)
  }

  /** Numbers of those protocols that have metrics. */
  protocolNumbers(names: readonly string[]): number[] {
    return names.flatMap(name => this.protocol(name) ?? [])
  }

  /** Numbers of a protocol's metrics, ascending: few spans, since a collector's metrics are added together. */
  spans(protocol: number): readonly NumberSpan[] {
    const spans = this.#spans.get(protocol) ?? this.#statements.spans.all(protocol)
    this.#spans.set(protocol, spans)
    return spans
  }

  /** Reads a metric, and those of the next numbers: mostly they are wanted, too, and one statement reads all. */
  #read(number: number): KnownMetric | undefined {
    const last = number + runMetricsMax - 1
    this.#remember(this.#statements.byNumber.all(number, last), number, last)
    return this.#byNumber[number]
  }

  /** Remembers those metrics that are not known yet. @param first the first of their numbers */
  #remember(raws: readonly RawMetric[], first: number, last: number): void {
    const descriptions = Map.groupBy(this.#statements.descriptions.all(first, last), ({ metric }) => metric)
    for (const raw of raws) {
      if (this.#byNumber[raw.number]) continue
      const own = (descriptions.get(raw.number) ?? []).map(({ since, unit, module }) => ({
        since,
        ...(unit === null ? {} : { unit }),
        ...(module === null ? {} : { module }),
      }))
      this.#keep({ ...raw, id: raw.id as MetricId, descriptions: own })
    }
  }

  #keep(known: KnownMetric): KnownMetric {
    this.#byId.set(known.id, known)
    this.#byNumber[known.number] = known
    return known
  }
}
