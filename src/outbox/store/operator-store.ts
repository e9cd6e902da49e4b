import { type Hour, hourNumber } from '../../model/hour.ts'
import { commitRowsMax } from '../../model/limits.ts'
import type { Metric, MetricId } from '../../model/metric.ts'
import type { Backlog, DestinationState } from '../contract/delivery-store.ts'
import type {
  CollectorHourRange,
  DeliveredHour,
  HistoryEntry,
  HourOrigin,
  UnsuccessfulFlushes,
} from '../contract/hours.ts'
import type {
  DeadOrHeldMetric,
  DueSelection,
  MetricKey,
  Selection,
  StoredMetric,
  ValueAndState,
  Warning,
  WarningSelection,
} from '../contract/metrics.ts'
import type { HoursWanted, OperatorStore, Units } from '../contract/operator-store.ts'
import { MetricChanges, storedRows } from './changes.ts'
import { hourOrigin, hourRanges } from './hours.ts'
import { lockWithDependents, renewDerived } from './inputs.ts'
import { changeDescription, descriptionOf, lockProtocols, metricsById, metricsByNumber } from './metrics.ts'
import { acknowledgeWarnings, allWarnings, destinationState, requestFlush, unsuccessfulFlushes } from './notes.ts'
import { expectHour } from './planning.ts'
import { type DecidedMetric, type Decision, decide, isReleasable } from './policy.ts'
import {
  backlogOf,
  type DetainedValue,
  deadOrHeld,
  deliveredHours,
  detainedValues,
  dueSelected,
  metricHistory,
  metricsBetween,
  selectedDue,
  storedValues,
} from './values.ts'
import type { StoreDatabase, StoreWork } from './work.ts'

/** A metric that a person decides on. */
type SelectedMetric = DecidedMetric & Pick<DetainedValue, 'protocolId'> & Partial<Pick<DetainedValue, 'kind' | 'unit'>>

/** The outbox for commands. */
export class StoreOperators implements OperatorStore {
  readonly #database: StoreDatabase

  constructor(database: StoreDatabase) {
    this.#database = database
  }

  backlog(): Promise<Backlog> {
    return this.#database.read(backlogOf)
  }

  hourRanges(state: 'gap' | 'due' | 'unread', wanted?: HoursWanted): Promise<readonly CollectorHourRange[]> {
    return this.#database.readEach(() => hourRanges(state, wanted))
  }

  metrics(from: Hour, to: Hour): Promise<readonly StoredMetric[]> {
    return this.#database.read(() => metricsBetween(from, to))
  }

  deliveredHours(collectors: readonly string[], from?: Hour, to?: Hour): Promise<readonly DeliveredHour[]> {
    return this.#database.readEach(() => deliveredHours(collectors, from, to))
  }

  stored(metrics: readonly MetricKey[]): Promise<readonly (ValueAndState | undefined)[]> {
    return this.#database.read(() => storedValues(metrics))
  }

  history(id: MetricId, from?: Hour, to?: Hour): Promise<readonly HistoryEntry[]> {
    return this.#database.read(() => metricHistory(id, from, to))
  }

  origin(collector: string, hour: Hour): Promise<HourOrigin | undefined> {
    return this.#database.read(() => hourOrigin(collector, hour))
  }

  unsuccessfulFlushes(name: string, fromMs: number, toMs: number): Promise<readonly UnsuccessfulFlushes[]> {
    return this.#database.readEach(() => unsuccessfulFlushes(name, fromMs, toMs))
  }

  expectHour(collector: string, hour: Hour, current: Hour): Promise<void> {
    return this.#database.write(() => expectHour(collector, hour, current))
  }

  changeUnit(metric: Pick<Metric, 'id' | 'hour' | 'unit' | 'module'>): Promise<void> {
    return this.#database.write(() => changeUnit(metric))
  }

  deadOrHeld(selection: Selection): Promise<readonly DeadOrHeldMetric[]> {
    return this.#database.read(() => deadOrHeld(selection))
  }

  async release(selection: Selection, units: Units): Promise<number> {
    const found = await this.#database.read(() => detainedValues(selection))
    const releasable = found.filter(({ kind }) => isReleasable(kind, units))
    return this.#decide(releasable, { from: selection.state, to: 'due' })
  }

  async drop(selection: Selection): Promise<number> {
    const found = await this.#database.read(() => detainedValues(selection))
    return this.#decide(found, { from: selection.state, to: 'dropped' })
  }

  due(selection: DueSelection): Promise<readonly Metric[]> {
    return this.#database.read(() => dueSelected(selection))
  }

  async dropDue(selection: DueSelection): Promise<number> {
    const found = await this.#database.read(() => selectedDue(selection))
    return this.#decide(found, { from: 'due', to: 'dropped' })
  }

  async resend(metrics: readonly MetricKey[]): Promise<number> {
    const known = await this.#database.readEach(() => metricsById(metrics.map(({ id }) => id)))
    const keys = metrics.flatMap(({ id, hour }) => {
      const own = known.get(id)
      return own ? [{ hour: hourNumber(hour), metric: own.number, protocolId: own.protocolId }] : []
    })
    return this.#decide(keys, { from: 'delivered', to: 'due' })
  }

  warnings(): Promise<readonly Warning[]> {
    return this.#database.readEach(allWarnings)
  }

  acknowledge(selection: WarningSelection): Promise<number> {
    return this.#database.write(() => acknowledgeWarnings(selection))
  }

  destination(name: string): Promise<DestinationState> {
    return this.#database.readEach(() => destinationState(name))
  }

  requestFlush(): Promise<void> {
    return this.#database.write(requestFlush)
  }

  /** In several commits: the locks of one of many rows would block the daemons. @returns how many metrics changed */
  async #decide(metrics: readonly SelectedMetric[], decision: Decision): Promise<number> {
    let changes = 0
    for (let at = 0; at < metrics.length; at += commitRowsMax) {
      const some = metrics.slice(at, at + commitRowsMax)
      changes += await this.#database.write(() => decideOn(some, decision), { rows: some.length })
    }
    return changes
  }
}

function* decideOn(selection: readonly SelectedMetric[], decision: Decision): StoreWork<number> {
  const metrics = yield* metricsByNumber(selection.map(({ metric }) => metric))
  const ids = [...metrics.values()].map(({ id }) => id)
  const { dependents } = yield* lockWithDependents([], ids)
  yield* lockProtocols(selection.map(({ protocolId }) => protocolId))
  const changes = new MetricChanges(yield* storedRows(selection))
  const changedMetrics = decide(changes, selection, decision)
  yield* changes.write()
  yield* renewDerived(dependents, {
    renewedValues: changes.renewed,
    metricsByNumber: metrics,
    latest: Number.POSITIVE_INFINITY,
  })
  if (decision.to !== 'due') return changedMetrics.length
  for (const { kind, metric, hour, unit } of changedMetrics) {
    if (kind === 'unit') yield* changeDescription(metric, hour, descriptionOf({ unit }))
  }
  return changedMetrics.length
}

function* changeUnit(metric: Pick<Metric, 'id' | 'hour' | 'unit' | 'module'>): StoreWork<void> {
  const knownMetric = (yield* metricsById([metric.id])).get(metric.id)
  if (!knownMetric) return
  yield* lockProtocols([knownMetric.protocolId])
  yield* changeDescription(knownMetric.number, hourNumber(metric.hour), descriptionOf(metric))
}
