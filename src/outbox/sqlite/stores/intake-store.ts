import type { FinalBlocks } from '../../../model/block.ts'
import type { Fault } from '../../../model/fault.ts'
import type { Hour } from '../../../model/hour.ts'
import type { Backlog } from '../../contract/balance.ts'
import type { CollectionState, DueHour, DueHoursWanted, HourPlan, PinnedHour } from '../../contract/hours.ts'
import type { IntakeStore } from '../../contract/intake-store.ts'
import type { MetricKey, Past } from '../../contract/metrics.ts'
import type { CollectionOutcome, Recorded } from '../../contract/outcome.ts'
import { HourPlanner } from '../planning/hour-planner.ts'
import type { OutboxTables } from '../tables/outbox-tables.ts'
import { backlogOf } from './backlog.ts'

/** The outbox for intake, in SQLite. */
export class SqliteIntakeStore implements IntakeStore {
  readonly #tables: OutboxTables
  readonly #planner: HourPlanner

  constructor(tables: OutboxTables) {
    this.#tables = tables
    this.#planner = new HourPlanner(tables)
  }

  planHours(plan: HourPlan): Promise<number> {
    return this.#planner.plan(plan)
  }

  async dueHours({ collectors, current, nowMs, limit }: DueHoursWanted): Promise<readonly DueHour[]> {
    return this.#tables.expectedHours.due(collectors, current, nowMs, limit)
  }

  async nextAttemptMs(afterMs: number): Promise<number | undefined> {
    return this.#tables.expectedHours.nextAttemptMs(afterMs)
  }

  async hourStates(collector: string, from: Hour, to: Hour): Promise<ReadonlyMap<Hour, CollectionState>> {
    return this.#tables.expectedHours.states(collector, from, to)
  }

  async newestCollected(): Promise<Hour | undefined> {
    return this.#tables.repair.newestCollected()
  }

  async pasts(metrics: readonly MetricKey[]): Promise<readonly (Past | undefined)[]> {
    return this.#tables.metrics.pasts(metrics)
  }

  record(outcome: CollectionOutcome, nowMs: number): Promise<Recorded> {
    return this.#tables.recordCollection(outcome, nowMs)
  }

  recordGap(collector: string, hour: Hour, fault: Fault): Promise<void> {
    return this.#tables.commit(() => this.#tables.expectedHours.markGap(collector, hour, fault), 1)
  }

  async pinnedHours(chainId: number, upTo: Hour, limit: number): Promise<readonly PinnedHour[]> {
    return this.#tables.pins.due(chainId, upTo, limit)
  }

  confirmPin(chainId: number, { collector, hour, block }: Parameters<IntakeStore['confirmPin']>[1]): Promise<void> {
    return this.#tables.commit(() => this.#tables.pins.confirm(chainId, hour, collector, block), 1)
  }

  forgetPins(collector: string, hour: Hour): Promise<void> {
    return this.#tables.commit(() => this.#tables.pins.forget(collector, hour), 1)
  }

  finalBlocks(chainId: number): FinalBlocks {
    return this.#tables.finalBlocks(chainId)
  }

  async backlog(): Promise<Backlog> {
    return backlogOf(this.#tables)
  }
}
