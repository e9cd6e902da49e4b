import { type Hour, hourFromNumber, hourNumber } from '../model/hour.ts'
import type { Metric, MetricId } from '../model/metric.ts'
import type { DeadMetric } from '../model/verdict.ts'
import type { Sqlite } from '../sqlite/database.ts'

/** States of a metric in the outbox, by the number they are stored as. */
export const metricStates = ['due', 'delivered', 'dead', 'held'] as const
export type MetricState = (typeof metricStates)[number]
const stateNumber = (state: MetricState) => metricStates.indexOf(state)

/** A metric on its way in; `hold` says why a person has to look at it before it is sent. */
export interface Accepted {
  readonly metric: Metric
  readonly hold?: string
}

/** A metric with what became of it. */
export interface StoredMetric extends Metric {
  readonly state: MetricState
  readonly collector: string
  /** Why it is dead or held. */
  readonly reason?: string
}

interface RawMetric {
  readonly hour: number
  readonly name: string
  readonly protocol: string
  readonly unit: string | null
  readonly module: string | null
  readonly value: number
}

interface RawStored extends RawMetric {
  readonly state: number
  readonly collector: string
  readonly reason: string | null
}

const columns = 'hour, metric.name AS name, protocol, unit, module, value'
const source = 'outbox JOIN metric ON metric.id = outbox.metric'
const ofProtocols = 'protocol IN (SELECT value FROM json_each(?))'

/** The metrics of the outbox: enqueued once, settled by a verdict. Part of the outbox's file. */
export class Metrics {
  readonly #statements

  constructor(database: Sqlite) {
    this.#statements = {
      know: database.prepare<[string, string, string | null, string | null, string]>(
        `INSERT INTO metric (name, protocol, unit, module, collector) SELECT ?, ?, ?, ?, id FROM collector WHERE name = ?
         ON CONFLICT (name) DO UPDATE SET unit = excluded.unit, module = excluded.module, collector = excluded.collector`,
      ),
      add: database.prepare<[number, number, number, string]>(
        'INSERT INTO outbox (hour, state, value, metric) SELECT ?, ?, ?, id FROM metric WHERE name = ? ON CONFLICT DO NOTHING',
      ),
      fresh: database.prepare<[number, string, number], RawMetric>(
        `SELECT ${columns} FROM ${source} WHERE state = 0 AND hour >= ? AND ${ofProtocols} ORDER BY hour DESC, outbox.metric LIMIT ?`,
      ),
      backlog: database.prepare<[number, string, number], RawMetric>(
        `SELECT ${columns} FROM ${source} WHERE state = 0 AND hour < ? AND ${ofProtocols} ORDER BY hour, outbox.metric LIMIT ?`,
      ),
      settle: database.prepare<[number, number, string]>(
        'UPDATE outbox SET state = ? WHERE hour = ? AND metric = (SELECT id FROM metric WHERE name = ?) AND state = 0',
      ),
      detain: database.prepare<[number, string, number, string]>(
        'INSERT INTO detained (hour, reason, at_ms, metric) SELECT ?, ?, ?, id FROM metric WHERE name = ? ON CONFLICT DO NOTHING',
      ),
      balance: database.prepare<[], { state: number; count: number }>(
        'SELECT state, count(*) AS count FROM outbox GROUP BY state',
      ),
      oldestDue: database.prepare<[], { hour: number | null }>('SELECT min(hour) AS hour FROM outbox WHERE state = 0'),
      late: database.prepare<[number, string], { count: number; oldest: number | null }>(
        `SELECT count(*) AS count, min(hour) AS oldest FROM ${source} WHERE state = 0 AND hour <= ? AND ${ofProtocols}`,
      ),
      between: database.prepare<[number, number], RawStored>(
        `SELECT ${columns}, state, collector.name AS collector, reason FROM ${source} JOIN collector ON collector.id = collector
         LEFT JOIN detained USING (hour, metric) WHERE hour BETWEEN ? AND ? ORDER BY hour, outbox.metric`,
      ),
    }
  }

  /**
   * Puts a metric into the outbox; the first value of a metric and hour stands for ever.
   *
   * @param collector must be known to the outbox
   * @returns whether it is new
   */
  enqueue({ metric, hold }: Accepted, collector: string, nowMs: number): boolean {
    const { id, protocolId, unit, module, hour, value } = metric
    const known = this.#statements.know.run(id, protocolId, unit ?? null, module ?? null, collector)
    if (known.changes === 0) throw new Error(`no collector ${collector} is known to the outbox`)
    const state = stateNumber(hold === undefined ? 'due' : 'held')
    const isNew = this.#statements.add.run(hourNumber(hour), state, value, id).changes === 1
    if (isNew && hold !== undefined) this.#statements.detain.run(hourNumber(hour), hold, nowMs, id)
    return isNew
  }

  /** Due metrics of some protocols: those of `hour` and later first, then the backlog, oldest first. */
  due(protocolIds: readonly string[], hour: Hour, limit: number): Metric[] {
    const protocols = JSON.stringify(protocolIds)
    const fresh = this.#statements.fresh.all(hourNumber(hour), protocols, limit)
    const room = limit - fresh.length
    const backlog = room > 0 ? this.#statements.backlog.all(hourNumber(hour), protocols, room) : []
    return [...fresh, ...backlog].map(metricOf)
  }

  /** Records that the service has it. Only what is due can be delivered. */
  markDelivered(metric: Metric): void {
    this.#statements.settle.run(stateNumber('delivered'), hourNumber(metric.hour), metric.id)
  }

  /** Records that the service will never take it; it is kept for a person, with the service's words. */
  markDead({ metric, reason }: DeadMetric, nowMs: number): void {
    const { changes } = this.#statements.settle.run(stateNumber('dead'), hourNumber(metric.hour), metric.id)
    if (changes === 1) this.#statements.detain.run(hourNumber(metric.hour), reason, nowMs, metric.id)
  }

  /** Metrics by state; `queued` is their sum. */
  balance(): Readonly<Record<MetricState | 'queued', number>> {
    const balance = { queued: 0, due: 0, delivered: 0, dead: 0, held: 0 }
    for (const { state, count } of this.#statements.balance.all()) {
      balance[metricStates[state] ?? 'due'] += count
      balance.queued += count
    }
    return balance
  }

  /** Hour of the oldest due metric; `undefined` when none is due. */
  oldestDue(): Hour | undefined {
    const hour = this.#statements.oldestDue.get()?.hour
    return hour === null || hour === undefined ? undefined : hourFromNumber(hour)
  }

  /** Due metrics of some protocols, of an hour and before: how many, and the oldest's hour. */
  late(protocolIds: readonly string[], hour: Hour): { readonly count: number; readonly oldest?: Hour } {
    const row = this.#statements.late.get(hourNumber(hour), JSON.stringify(protocolIds))
    const oldest = row?.oldest ?? undefined
    return { count: row?.count ?? 0, ...(oldest === undefined ? {} : { oldest: hourFromNumber(oldest) }) }
  }

  /** Every metric of a range of hours, both ends included, by hour. */
  between(from: Hour, to: Hour): StoredMetric[] {
    return this.#statements.between.all(hourNumber(from), hourNumber(to)).map(row => ({
      ...metricOf(row),
      state: metricStates[row.state] ?? 'due',
      collector: row.collector,
      ...(row.reason === null ? {} : { reason: row.reason }),
    }))
  }
}

function metricOf({ hour, name, protocol, unit, module, value }: RawMetric): Metric {
  return {
    id: name as MetricId,
    protocolId: protocol,
    hour: hourFromNumber(hour),
    value,
    ...(unit === null ? {} : { unit }),
    ...(module === null ? {} : { module }),
  }
}
