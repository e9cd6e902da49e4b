import { hourNumber } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import type { Sqlite } from '../../sqlite/database.ts'
import type { MetricRegistry } from './metric-registry.ts'

type SentValue = Pick<Metric, 'id' | 'hour' | 'value'>

/** Metrics that were sent. */
export interface Sorted<T> {
  /** Those whose value is the stored one: what the service said of another value does not settle a metric. */
  readonly current: readonly T[]
  /** Those among them that are corrections. */
  readonly corrected: readonly T[]
}

/**
 * Due metrics whose value may have changed since one of them was sent: the old one may be on its way to the service, from
 * this process or another one. Those that were held meanwhile are listed, too: they become due again with the new value,
 * whereas what was held from the start was never sent. Metrics in other states are not listed, so that a list of dead ones
 * costs no verdict anything; one that becomes due again is. Part of the outbox's file.
 */
export class Corrections {
  readonly #registry: MetricRegistry
  readonly #statements

  constructor(database: Sqlite, registry: MetricRegistry) {
    this.#registry = registry
    const byKey = 'WHERE hour = ? AND metric = ?'
    this.#statements = {
      any: database.prepare<[], number>('SELECT 1 FROM correction LIMIT 1').pluck(),
      value: database
        .prepare<[number, number], number>(
          `SELECT value FROM correction CROSS JOIN outbox USING (hour, metric) ${byKey}`,
        )
        .pluck(),
      add: database.prepare<[number, number, number]>(
        'INSERT INTO correction (hour, metric, at_ms) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at_ms = excluded.at_ms',
      ),
      remove: database.prepare<[number, number]>(`DELETE FROM correction ${byKey}`),
      delivered: database.prepare<[number, number]>(
        `DELETE FROM correction ${byKey}
         AND EXISTS (SELECT 1 FROM outbox WHERE outbox.hour = correction.hour AND outbox.metric = correction.metric AND state = 1)`,
      ),
    }
  }

  /** Whether there is any. */
  get areThere(): boolean {
    return this.#statements.any.get() !== undefined
  }

  /** Whether a metric was corrected and the new value is not known to be delivered. */
  has(metric: Pick<Metric, 'id' | 'hour'>): boolean {
    return this.areThere && this.#registry.reading(() => this.#storedValue(metric) !== undefined)
  }

  /** Within a transaction. */
  add(hour: number, metric: number, nowMs: number): void {
    this.#statements.add.run(hour, metric, nowMs)
  }

  /** It will not be sent any more. Within a transaction. */
  remove(hour: number, metric: number): void {
    this.#statements.remove.run(hour, metric)
  }

  /** Sorts what was sent by whether it is what the outbox has now. */
  sorted<T extends SentValue>(sent: readonly T[]): Sorted<T> {
    if (!this.areThere) return { current: sent, corrected: [] }
    const stored = new Map(sent.map(metric => [metric, this.#storedValue(metric)]))
    const isCurrent = (metric: T) => isSameValue(stored.get(metric) ?? metric.value, metric.value)
    const current = sent.filter(isCurrent)
    return { current, corrected: current.filter(metric => stored.get(metric) !== undefined) }
  }

  /** They are not corrections any more where they are delivered, rather than held meanwhile. Within a transaction. */
  delivered(corrected: readonly SentValue[]): void {
    for (const { id, hour } of corrected) {
      const number = this.#registry.metric(id)?.number
      if (number !== undefined) this.#statements.delivered.run(hourNumber(hour), number)
    }
  }

  #storedValue({ id, hour }: Pick<Metric, 'id' | 'hour'>): number | undefined {
    const number = this.#registry.metric(id)?.number
    return number === undefined ? undefined : this.#statements.value.get(hourNumber(hour), number)
  }
}

/** Whether two values are the same bits; −0 is stored as 0. */
export function isSameValue(a: number, b: number): boolean {
  return Object.is(a === 0 ? 0 : a, b === 0 ? 0 : b)
}
