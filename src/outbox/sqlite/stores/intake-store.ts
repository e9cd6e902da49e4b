import type { FinalBlocks } from '../../../model/block.ts'
import type { Fault } from '../../../model/fault.ts'
import { type Hour, hourAt } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import type { Backlog } from '../../contract/balance.ts'
import type { CollectionState, DueHour, DueHoursWanted, HourPlan, PinnedHour } from '../../contract/hours.ts'
import type { IntakeStore } from '../../contract/intake-store.ts'
import type { Accepted, MetricKey, Past } from '../../contract/metrics.ts'
import type { CollectionOutcome, Recorded } from '../../contract/outcome.ts'
import type { Enqueued } from '../../rows/digest.ts'
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

  async dueHours(wanted: DueHoursWanted): Promise<readonly DueHour[]> {
    return this.#tables.expectedHours.due(wanted)
  }

  async nextAttemptMs(afterMs: number): Promise<number | undefined> {
    return this.#tables.expectedHours.nextAttemptMs(afterMs)
  }

  endRetryWaits(collectors: readonly string[]): Promise<void> {
    return this.#tables.writer.commit(() => this.#tables.expectedHours.endRetryWaits(collectors), 0)
  }

  async hourStates(collector: string, from: Hour, to: Hour): Promise<ReadonlyMap<Hour, CollectionState>> {
    return this.#tables.expectedHours.states(collector, from, to)
  }

  async newestCollected(): Promise<Hour | undefined> {
    return this.#tables.expectedHours.newestCollected()
  }

  async pasts(metrics: readonly MetricKey[]): Promise<readonly (Past | undefined)[]> {
    return this.#tables.metrics.pasts(metrics)
  }

  async record(outcome: CollectionOutcome, nowMs: number): Promise<Recorded> {
    const { writer } = this.#tables
    const parts = slices(outcome.accepted, commitRowsMax)
    const last = parts.pop() ?? []
    const total = { corrected: 0, added: 0 }
    const count = ({ metrics, corrected }: Enqueued) => {
      total.added += metrics
      total.corrected += corrected
    }
    for (const part of parts) count(await writer.commit(() => this.#enqueue(part, outcome, nowMs), part.length))
    const conclude = () => {
      const enqueued = this.#enqueue(last, outcome, nowMs)
      this.#conclude(outcome, nowMs)
      return enqueued
    }
    count(await writer.commit(conclude, last.length))
    return total
  }

  /** Within a transaction. */
  #enqueue(part: readonly Accepted[], outcome: CollectionOutcome, nowMs: number): Enqueued {
    const { collector, hour, mode = 'first-stands', pins = [], provenance, unexpected } = outcome
    const { expectedHours, enqueuing, pins: pinned, provenances } = this.#tables
    // A collector without a schedule.
    if (unexpected) expectedHours.addUnscheduled(collector, hourAt(nowMs))
    const enqueued = enqueuing.enqueue(part, collector, mode, nowMs)
    const isChanged = enqueued.metrics + enqueued.corrected > 0
    if (isChanged) expectedHours.addMetrics(collector, hour, enqueued, provenance && provenances.add(provenance))
    if (isChanged) pinned.add(collector, hour, pins)
    return enqueued
  }

  /** Within a transaction. */
  #conclude(outcome: CollectionOutcome, nowMs: number): void {
    const { collector, hour, mode, pins = [], provenance, failed, unexpected } = outcome
    const { expectedHours, backfillFailures, provenances, pins: pinned } = this.#tables
    if (!failed) {
      expectedHours.markCollected(collector, hour, provenance && provenances.add(provenance))
      backfillFailures.remove(collector, hour)
    } else if (unexpected) backfillFailures.add(collector, hour, failed.fault, nowMs)
    else expectedHours.markFailed(collector, hour, failed.fault, failed.nextAttemptMs, nowMs)
    // Every value is now as of these blocks, whatever it was read at before.
    if (!failed && mode === 'correct') pinned.replace(collector, hour, pins)
  }

  recordGap(collector: string, hour: Hour, fault: Fault): Promise<void> {
    return this.#tables.writer.commit(() => this.#tables.expectedHours.markGap(collector, hour, fault), 1)
  }

  async pinnedHours(chainId: number, upTo: Hour, limit: number): Promise<readonly PinnedHour[]> {
    return this.#tables.pins.due(chainId, upTo, limit)
  }

  confirmPin(chainId: number, { collector, hour, block }: Parameters<IntakeStore['confirmPin']>[1]): Promise<void> {
    return this.#tables.writer.commit(() => this.#tables.pins.confirm(chainId, hour, collector, block), 1)
  }

  forgetPins(collector: string, hour: Hour): Promise<void> {
    return this.#tables.writer.commit(() => this.#tables.pins.forget(collector, hour), 1)
  }

  finalBlocks(chainId: number): FinalBlocks {
    return this.#tables.finalBlocks.of(chainId)
  }

  async backlog(): Promise<Backlog> {
    return backlogOf(this.#tables)
  }
}

function slices<T>(all: readonly T[], size: number): (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size))
}
