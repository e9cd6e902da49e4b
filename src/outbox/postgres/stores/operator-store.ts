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
import type { PostgresDatabase } from '../connection/database.ts'
import { alone } from '../tables/alone.ts'
import { backlogOf } from '../tables/backlog.ts'
import { deadOrHeld } from '../tables/dead-and-held.ts'
import { drop, dropDue, release, resend } from '../tables/decisions.ts'
import { destinationState, hurryDestinations } from '../tables/destinations.ts'
import { selectedDue } from '../tables/due-selections.ts'
import { expectHour } from '../tables/expected-hour.ts'
import { hourRanges } from '../tables/hour-looks.ts'
import { hourOrigin } from '../tables/hour-origin.ts'
import { metricsById } from '../tables/known-metrics.ts'
import { lockProtocols } from '../tables/locks.ts'
import { metricHistory } from '../tables/metric-history.ts'
import { deliveredHours, metricsBetween, storedValues } from '../tables/stored-metrics.ts'
import { changeDescription } from '../tables/unit-changes.ts'
import { unsuccessfulFlushes } from '../tables/unsuccessful-flushes.ts'
import { acknowledgeWarnings, allWarnings } from '../tables/warnings.ts'

/** The outbox for commands, in PostgreSQL. */
export class PostgresOperatorStore implements OperatorStore {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  backlog(): Promise<Backlog> {
    return this.#database.read(backlogOf)
  }

  hourRanges(state: 'gap' | 'due' | 'unread', wanted?: HoursWanted): Promise<readonly CollectorHourRange[]> {
    return hourRanges(alone(this.#database), state, wanted)
  }

  metrics(from: Hour, to: Hour): Promise<readonly StoredMetric[]> {
    return this.#database.read(reading => metricsBetween(reading, from, to))
  }

  deliveredHours(collectors: readonly string[], from?: Hour, to?: Hour): Promise<readonly DeliveredHour[]> {
    return deliveredHours(alone(this.#database), collectors, from, to)
  }

  stored(metrics: readonly MetricKey[]): Promise<readonly (ValueAndState | undefined)[]> {
    return storedValues(alone(this.#database), metrics)
  }

  history(id: MetricId, from?: Hour, to?: Hour): Promise<readonly HistoryEntry[]> {
    return this.#database.read(reading => metricHistory(reading, id, from, to))
  }

  origin(collector: string, hour: Hour): Promise<HourOrigin | undefined> {
    return this.#database.read(reading => hourOrigin(reading, collector, hour))
  }

  unsuccessfulFlushes(name: string, fromMs: number, toMs: number): Promise<readonly UnsuccessfulFlushes[]> {
    return unsuccessfulFlushes(alone(this.#database), name, fromMs, toMs)
  }

  expectHour(collector: string, hour: Hour, current: Hour): Promise<void> {
    return this.#database.write(transaction => expectHour(transaction, collector, hour, current))
  }

  changeUnit(metric: Pick<Metric, 'id' | 'hour' | 'unit' | 'module'>): Promise<void> {
    return this.#database.write(async transaction => {
      const known = (await metricsById(transaction, [metric.id])).get(metric.id)
      if (!known) return
      await lockProtocols(transaction, [known.protocolId])
      await changeDescription(transaction, known.number, hourNumber(metric.hour), metric)
    })
  }

  deadOrHeld(selection: Selection): Promise<readonly DeadOrHeldMetric[]> {
    return this.#database.read(reading => deadOrHeld(reading, selection))
  }

  release(selection: Selection, units: Units): Promise<number> {
    return release(this.#database, selection, units)
  }

  drop(selection: Selection): Promise<number> {
    return drop(this.#database, selection)
  }

  resend(metrics: readonly MetricKey[]): Promise<number> {
    return resend(this.#database, metrics)
  }

  async due(selection: DueSelection): Promise<readonly Metric[]> {
    const found = await this.#database.read(reading => selectedDue(reading, selection))
    return found.map(({ metric }) => metric)
  }

  dropDue(selection: DueSelection): Promise<number> {
    return dropDue(this.#database, selection)
  }

  warnings(): Promise<readonly Warning[]> {
    return allWarnings(alone(this.#database))
  }

  acknowledge(selection: WarningSelection): Promise<number> {
    return this.#database.write(transaction => acknowledgeWarnings(transaction, selection))
  }

  destination(name: string): Promise<DestinationState> {
    return destinationState(alone(this.#database), name)
  }

  hurry(): Promise<void> {
    return hurryDestinations(this.#database)
  }
}
