import type { FinalBlocks } from '../../../model/block.ts'
import type { Fault } from '../../../model/fault.ts'
import type { Hour } from '../../../model/hour.ts'
import type { Backlog } from '../../contract/balance.ts'
import type { CollectionState, DueHour, DueHoursWanted, HourPlan, PinnedHour } from '../../contract/hours.ts'
import type { IntakeStore } from '../../contract/intake-store.ts'
import type { MetricKey, Past } from '../../contract/metrics.ts'
import type { CollectionOutcome, Recorded } from '../../contract/outcome.ts'
import type { PostgresDatabase } from '../connection/database.ts'
import type { PostgresHealth } from '../connection/health.ts'
import { backlogOf } from '../tables/backlog.ts'
import { ExpectedHourRows } from '../tables/expected-hours.ts'
import { FinalBlockRows } from '../tables/final-block-rows.ts'
import { pastsOf } from '../tables/pasts.ts'
import { PinRows } from '../tables/pin-rows.ts'
import type { UnsentMetrics } from '../tables/unsent-metrics.ts'
import { PostgresHourPlanner } from '../writing/hour-planner.ts'
import { type InTransaction, OutcomeWriter } from '../writing/outcome-writer.ts'

/** Dependencies of `PostgresIntakeStore`. */
interface PostgresIntakeDeps {
  readonly database: PostgresDatabase
  readonly health: PostgresHealth
  readonly unsent: UnsentMetrics
}

/** The outbox for intake, in PostgreSQL. */
export class PostgresIntakeStore implements IntakeStore {
  readonly #deps: PostgresIntakeDeps
  readonly #planner: PostgresHourPlanner
  readonly #outcomes: OutcomeWriter
  readonly #hours: ExpectedHourRows
  readonly #pins: PinRows

  constructor(deps: PostgresIntakeDeps) {
    this.#deps = deps
    this.#planner = new PostgresHourPlanner(deps.database)
    this.#outcomes = new OutcomeWriter(deps)
    this.#hours = new ExpectedHourRows(deps.database)
    this.#pins = new PinRows(deps.database)
  }

  /** As `IntakeStore.planHours`. @param inTransaction takes part in the commit */
  planHours(plan: HourPlan, inTransaction?: InTransaction): Promise<number> {
    return this.#deps.health.writing(0, () => this.#planner.plan(plan, inTransaction))
  }

  dueHours(wanted: DueHoursWanted): Promise<readonly DueHour[]> {
    return this.#hours.due(wanted)
  }

  nextAttemptMs(afterMs: number): Promise<number | undefined> {
    return this.#hours.nextAttemptMs(afterMs)
  }

  endRetryWaits(collectors: readonly string[]): Promise<void> {
    return this.#deps.health.writing(0, () => this.#hours.endRetryWaits(collectors))
  }

  hourStates(collector: string, from: Hour, to: Hour): Promise<ReadonlyMap<Hour, CollectionState>> {
    return this.#hours.states(collector, from, to)
  }

  newestCollected(): Promise<Hour | undefined> {
    return this.#hours.newestCollected()
  }

  pasts(metrics: readonly MetricKey[]): Promise<readonly (Past | undefined)[]> {
    return pastsOf(this.#deps.database, metrics)
  }

  /** As `IntakeStore.record`. @param inTransaction takes part in the commit */
  record(outcome: CollectionOutcome, nowMs: number, inTransaction?: InTransaction): Promise<Recorded> {
    return this.#outcomes.record(outcome, nowMs, inTransaction)
  }

  /** As `IntakeStore.recordGap`. @param inTransaction takes part in the commit */
  recordGap(collector: string, hour: Hour, fault: Fault, inTransaction?: InTransaction): Promise<void> {
    return this.#deps.health.writing(0, () => this.#hours.markGap(collector, hour, fault, inTransaction))
  }

  pinnedHours(chainId: number, upTo: Hour, limit: number): Promise<readonly PinnedHour[]> {
    return this.#pins.due(chainId, upTo, limit)
  }

  confirmPin(chainId: number, { collector, hour, block }: Parameters<IntakeStore['confirmPin']>[1]): Promise<void> {
    return this.#deps.health.writing(0, () => this.#pins.confirm(chainId, hour, collector, block))
  }

  forgetPins(collector: string, hour: Hour): Promise<void> {
    return this.#deps.health.writing(0, () => this.#pins.forget(collector, hour))
  }

  finalBlocks(chainId: number): FinalBlocks {
    const { database, health } = this.#deps
    return new FinalBlockRows(database, chainId, error => void health.recover(error))
  }

  backlog(): Promise<Backlog> {
    return this.#deps.database.read(backlogOf)
  }
}
