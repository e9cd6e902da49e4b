import { hourNumber } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import type { MetricList } from '../../../model/metric-list.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { MetricKey } from '../../contract/metrics.ts'
import { isSameValue } from '../../rows/run-values.ts'
import { stateNumber } from '../../rows/states.ts'
import type { MetricRegistry } from './metric-registry.ts'
import type { MetricRuns } from './metric-runs.ts'

/** Sent metrics, by whether the outbox still has the sent value. */
export interface Sorted {
  /** Metrics whose stored value is the sent one. A verdict on another value says nothing about the metric. */
  readonly current: MetricList
  /** Those of `current` that are corrections. */
  readonly corrected: readonly Metric[]
}

/**
 * Due metrics whose value may have changed after one of its values was sent, by this process or another. The old value
 * may still be on its way to the service. Metrics held meanwhile stay listed, because they become due again with the
 * new value; metrics held from the start were never sent. Other states are not listed, so that many dead metrics slow
 * no verdict down.
 */
export class Corrections {
  readonly #registry: MetricRegistry
  readonly #runs: MetricRuns
  readonly #statements

  constructor(database: Sqlite, { registry, runs }: { readonly registry: MetricRegistry; readonly runs: MetricRuns }) {
    this.#registry = registry
    this.#runs = runs
    const byKey = 'WHERE hour = ? AND metric = ?'
    this.#statements = {
      any: database.prepare<[], number>('SELECT 1 FROM correction LIMIT 1').pluck(),
      isListed: database.prepare<[number, number], number>(`SELECT 1 FROM correction ${byKey}`).pluck(),
      add: database.prepare<[number, number, number]>(
        'INSERT INTO correction (hour, metric, at_ms) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at_ms = excluded.at_ms',
      ),
      remove: database.prepare<[number, number]>(`DELETE FROM correction ${byKey}`),
    }
  }

  /** Whether any metric is listed. */
  get areThere(): boolean {
    return this.#statements.any.get() !== undefined
  }

  /** Whether a metric was corrected and its new value is not known to be delivered. */
  has(metric: MetricKey): boolean {
    return this.areThere && this.#registry.reading(() => this.#storedValue(metric) !== undefined)
  }

  /** Lists a metric. Within a transaction. */
  add(hour: number, metric: number, nowMs: number): void {
    this.#statements.add.run(hour, metric, nowMs)
  }

  /** Removes a metric that will not be sent any more. Within a transaction. */
  remove(hour: number, metric: number): void {
    this.#statements.remove.run(hour, metric)
  }

  /** Sorts sent metrics by whether the outbox still has the sent value. */
  sorted(sent: MetricList): Sorted {
    if (!this.areThere) return { current: sent, corrected: [] }
    const stored = new Map([...sent].map(metric => [metric, this.#storedValue(metric)]))
    const isCurrent = (metric: Metric) => isSameValue(stored.get(metric) ?? metric.value, metric.value)
    const current = sent.filter(isCurrent)
    return { current, corrected: current.filter(metric => stored.get(metric) !== undefined) }
  }

  /** Removes delivered corrections; those held meanwhile stay. Within a transaction. */
  delivered(corrected: readonly Metric[]): void {
    for (const metric of corrected) {
      const [at, number] = [hourNumber(metric.hour), this.#registry.metric(metric.id)?.number ?? 0]
      if (this.#runs.at(at, number)?.state === stateNumber('delivered')) this.remove(at, number)
    }
  }

  #storedValue(metric: MetricKey): number | undefined {
    const [at, number] = [hourNumber(metric.hour), this.#registry.metric(metric.id)?.number ?? 0]
    return this.#statements.isListed.get(at, number) === undefined ? undefined : this.#runs.at(at, number)?.value
  }
}
