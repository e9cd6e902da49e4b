import type { Hour } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import type { Backlog } from '../../contract/balance.ts'
import type { DestinationState } from '../../contract/destination.ts'
import type { CollectorHourRange, DeliveredHour } from '../../contract/hours.ts'
import type { MetricKey, StoredMetric, ValueAndState } from '../../contract/metrics.ts'
import type { HoursWanted, OperatorStore, Units } from '../../contract/operator-store.ts'
import type { DeadOrHeldMetric, DueSelection, Selection } from '../../contract/selections.ts'
import type { Warning, WarningSelection } from '../../contract/warnings.ts'
import { begin } from '../planning/plan-hours.ts'
import type { OutboxTables } from '../tables/outbox-tables.ts'
import { backlogOf } from './backlog.ts'

/** The outbox for commands, in SQLite. */
export class SqliteOperatorStore implements OperatorStore {
  readonly #tables: OutboxTables

  constructor(tables: OutboxTables) {
    this.#tables = tables
  }

  async backlog(): Promise<Backlog> {
    return backlogOf(this.#tables)
  }

  async hourRanges(state: 'gap' | 'due', wanted?: HoursWanted): Promise<readonly CollectorHourRange[]> {
    return this.#tables.hourRanges.of(state, wanted)
  }

  async metrics(from: Hour, to: Hour): Promise<readonly StoredMetric[]> {
    return this.#tables.metrics.between(from, to)
  }

  async deliveredHours(collectors: readonly string[], from?: Hour, to?: Hour): Promise<readonly DeliveredHour[]> {
    return this.#tables.metrics.deliveredHours(collectors, from, to)
  }

  async stored(metrics: readonly MetricKey[]): Promise<readonly (ValueAndState | undefined)[]> {
    return metrics.map(({ id, hour }) => this.#tables.metrics.stored(id, hour))
  }

  async expectHour(collector: string, hour: Hour, current: Hour): Promise<void> {
    begin(this.#tables.expectedHours, collector, current)
    this.#tables.expectedHours.expect(collector, [hour])
  }

  async changeUnit(metric: Pick<Metric, 'id' | 'hour' | 'unit' | 'module'>): Promise<void> {
    this.#tables.metrics.changeUnit(metric)
  }

  async deadOrHeld(selection: Selection): Promise<readonly DeadOrHeldMetric[]> {
    return this.#tables.deadAndHeld.list(selection)
  }

  release(selection: Selection, units: Units): Promise<number> {
    return this.#tables.deadAndHeld.release(selection, units)
  }

  drop(selection: Selection): Promise<number> {
    return this.#tables.deadAndHeld.drop(selection)
  }

  async due(selection: DueSelection): Promise<readonly Metric[]> {
    return this.#tables.dueSelections.list(selection)
  }

  dropDue(selection: DueSelection): Promise<number> {
    return this.#tables.dueSelections.drop(selection)
  }

  async warnings(): Promise<readonly Warning[]> {
    return this.#tables.warnings.all()
  }

  async acknowledge(selection: WarningSelection): Promise<number> {
    return this.#tables.warnings.acknowledge(selection)
  }

  async destination(name: string): Promise<DestinationState> {
    return this.#tables.destinations.get(name)
  }

  async hurry(): Promise<void> {
    this.#tables.destinations.hurry()
  }
}
