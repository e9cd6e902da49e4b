import type { Hour } from '../../../model/hour.ts'
import type { MetricId } from '../../../model/metric.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { HistoryEntry } from '../../contract/history.ts'
import { hourBounds } from '../../rows/hour-rows.ts'
import type { KnownMetric } from '../../rows/known-metric.ts'
import { metricAt } from '../../rows/metric-at.ts'
import { valueAt } from '../../rows/run-values.ts'
import { stateOf } from '../../rows/states.ts'
import type { EarlierValues } from './earlier-values.ts'
import type { MetricRegistry } from './metric-registry.ts'

interface RawHistory {
  readonly first: number
  readonly metrics: number
  readonly state: number
  readonly collectedMs: number
  readonly deliveredMs: number
  readonly bytes: Buffer
  readonly reason: string | null
}

/** Dependencies of `MetricHistories`. */
interface MetricHistoriesDeps {
  readonly registry: MetricRegistry
  readonly earlierValues: EarlierValues
}

/** Reads what happened to a metric, hour by hour. */
export class MetricHistories {
  readonly #deps: MetricHistoriesDeps
  readonly #statements

  constructor(database: Sqlite, deps: MetricHistoriesDeps) {
    this.#deps = deps
    this.#statements = {
      ends: database
        .prepare<[], [oldest: number | null, newest: number | null]>(
          'SELECT (SELECT min(hour) FROM outbox), (SELECT max(hour) FROM outbox)',
        )
        .raw(),
      at: database.prepare<{ hour: number; number: number }, RawHistory>(
        `SELECT first, metrics, state, collected_ms AS collectedMs, delivered_ms AS deliveredMs, metric_values AS bytes,
           (SELECT reason FROM detained WHERE hour = +@hour AND metric = +@number) AS reason
         FROM outbox WHERE hour = +@hour AND first = (SELECT max(first) FROM outbox WHERE hour = +@hour AND first <= @number)
           AND first + metrics > @number`,
      ),
    }
  }

  /** As `OperatorStore.history`. A few microseconds for each hour. */
  of(id: MetricId, from?: Hour, to?: Hour): HistoryEntry[] {
    return this.#deps.registry.reading(() => {
      const known = this.#deps.registry.metric(id)
      const [oldest, newest] = this.#statements.ends.get() ?? [null, null]
      if (!known || oldest === null || newest === null) return []
      const [first, last] = hourBounds(from, to)
      const found: HistoryEntry[] = []
      for (let hour = Math.max(first, oldest); hour <= Math.min(last, newest); hour += 1) {
        const row = this.#statements.at.get({ hour, number: known.number })
        if (row) found.push(this.#historyOf(row, known, hour))
      }
      return found
    })
  }

  #historyOf(row: RawHistory, known: KnownMetric, hour: number): HistoryEntry {
    const { collectedMs, deliveredMs, reason } = row
    const state = stateOf(row.state)
    return {
      ...metricAt(known, hour, valueAt(row.bytes, known.number - row.first)),
      state,
      collector: known.collector,
      ...(reason !== null && (state === 'dead' || state === 'held') && { reason }),
      collectedMs,
      ...(state === 'delivered' && { deliveredMs }),
      earlier: this.#deps.earlierValues.of(hour, known.number),
    }
  }
}
