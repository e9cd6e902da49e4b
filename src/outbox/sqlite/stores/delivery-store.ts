import type { Hour } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import type { MetricList } from '../../../model/metric-list.ts'
import type { Backlog } from '../../contract/balance.ts'
import type { DeliveryStore, SentBefore, StillDue } from '../../contract/delivery-store.ts'
import type { DestinationState } from '../../contract/destination.ts'
import type { MetricKey } from '../../contract/metrics.ts'
import type { MetricVerdicts } from '../../contract/outcome.ts'
import type { DueWanted } from '../../contract/selections.ts'
import type { OutboxTables } from '../tables/outbox-tables.ts'
import { backlogOf } from './backlog.ts'

/** The outbox for delivery, in SQLite. */
export class SqliteDeliveryStore implements DeliveryStore {
  readonly #tables: OutboxTables

  constructor(tables: OutboxTables) {
    this.#tables = tables
  }

  async dueHour(which: 'oldest' | 'newest', protocolIds: readonly string[], latest: Hour): Promise<Hour | undefined> {
    return this.#tables.dueMetrics.hour(which, protocolIds, latest)
  }

  async due(wanted: DueWanted, limit: number): Promise<MetricList> {
    return this.#tables.dueMetrics.read(wanted, limit)
  }

  async stillDue<T extends MetricKey>(metrics: readonly T[], known?: string): Promise<StillDue<T>> {
    const { dueMetrics } = this.#tables
    // Before the look: what is withdrawn after it is found by one of a later turn.
    const stamp = dueMetrics.version
    return { metrics: stamp === known || metrics.length === 0 ? metrics : dueMetrics.still(metrics), stamp }
  }

  async present(metric: MetricKey): Promise<Metric | undefined> {
    return this.#tables.metrics.present(metric)
  }

  async lastDelivered(protocolIds: readonly string[], hour: Hour): Promise<Metric | undefined> {
    return this.#tables.metrics.lastDelivered(protocolIds, hour)
  }

  async hasDelivered(protocolIds: readonly string[]): Promise<boolean> {
    return this.#tables.tally.hasDelivered(protocolIds)
  }

  async sentBefore(metrics: readonly MetricKey[]): Promise<readonly SentBefore[]> {
    const { unsent } = this.#tables
    return metrics.map(metric => {
      if (this.#tables.corrections.has(metric)) return 'corrected'
      return unsent.has(metric) ? 'no' : 'unknown'
    })
  }

  maybeSent(metrics: readonly MetricKey[] | 'all'): void {
    this.#tables.unsent.mayBeSent(metrics)
  }

  recordVerdicts(verdicts: MetricVerdicts, nowMs: number, delayed?: () => void): Promise<void> {
    return this.#tables.writer.whenFree(() => this.#tables.verdicts.record(verdicts, nowMs), delayed)
  }

  async destination(name: string): Promise<DestinationState> {
    return this.#tables.destinations.get(name)
  }

  async saveDestination(name: string, state: DestinationState): Promise<void> {
    this.#tables.destinations.set(name, state)
  }

  async silenceOtherDestinations(names: readonly string[]): Promise<void> {
    this.#tables.destinations.silenceOthers(names)
  }

  async backlog(): Promise<Backlog> {
    return backlogOf(this.#tables)
  }
}
