import { type Hour, hourNumber } from '../../../model/hour.ts'
import type { Metric, MetricId } from '../../../model/metric.ts'
import type { Backlog } from '../../contract/balance.ts'
import type { DestinationState } from '../../contract/destination.ts'
import type { HistoryEntry, HourOrigin, UnsuccessfulFlushes } from '../../contract/history.ts'
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

  async hourRanges(state: 'gap' | 'due' | 'unread', wanted?: HoursWanted): Promise<readonly CollectorHourRange[]> {
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

  async history(id: MetricId, from?: Hour, to?: Hour): Promise<readonly HistoryEntry[]> {
    return this.#tables.histories.of(id, from, to)
  }

  async origin(collector: string, hour: Hour): Promise<HourOrigin | undefined> {
    const { expectedHours, provenances, pins, finalBlocks } = this.#tables
    const row = expectedHours.row(collector, hour)
    if (!row) return undefined
    const provenance = provenances.ofHour(hourNumber(hour), collector)
    const pinned = pins.ofHour(collector, hour).map(pin => ({ ...pin, isFinal: false }))
    const others = Object.keys(provenance?.hosts ?? {})
      .map(Number)
      .filter(id => !pinned.some(({ chainId }) => chainId === id))
    const final = others.map(async chainId => ({ chainId, block: await finalBlocks.of(chainId).of(hour) }))
    const known = (await Promise.all(final)).flatMap(({ chainId, block }) =>
      block ? [{ chainId, block, isFinal: true }] : [],
    )
    const failed = expectedHours.failed(collector, hour)
    return { ...row, failed, ...(provenance && { provenance }), blocks: [...pinned, ...known] }
  }

  async unsuccessfulFlushes(name: string, fromMs: number, toMs: number): Promise<readonly UnsuccessfulFlushes[]> {
    return this.#tables.unsuccessfulFlushes.between(name, fromMs, toMs)
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

  resend(metrics: readonly MetricKey[]): Promise<number> {
    return this.#tables.dueSelections.resend(metrics)
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
