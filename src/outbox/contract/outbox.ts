import type { DeliveryStore } from './delivery-store.ts'
import type { OutboxHealth } from './health.ts'
import type { IntakeStore } from './intake-store.ts'
import type { OperatorStore } from './operator-store.ts'
import type { ReportStore } from './report-store.ts'
import type { SharedOutbox } from './shared-outbox.ts'
import type { StatusStore } from './status-store.ts'
import type { UpkeepDeps } from './upkeep.ts'

/**
 * The store between the loops, as each of its users needs it: intake enqueues metrics, delivery records verdicts,
 * operators decide, status looks. An enqueued metric survives a power cut once the promise resolves. Every store passes
 * the suite in `test/outbox/contract/outbox-contract.ts`.
 */
export interface Outbox {
  readonly intake: IntakeStore
  readonly delivery: DeliveryStore
  readonly operators: OperatorStore
  readonly status: StatusStore
  readonly reports: ReportStore
  readonly health: OutboxHealth
  /** Absent where the outbox belongs to one daemon. */
  readonly shared?: SharedOutbox
  /** Starts to keep the outbox in order: room, old history, the role of delivery. @returns what stops it */
  startUpkeep(deps: UpkeepDeps): { stop(): Promise<void> }
  /** From now on a write that another process delays is given up after a while: a stop must end. */
  limitWaits(): void
  /** Closes it. A write that has not begun is refused. */
  close(): Promise<void>
}

/** The outbox as intake and backfill need it. */
export type IntakeOutbox = Pick<Outbox, 'intake' | 'health'>

/** The outbox as a backfill needs it. */
export interface BackfillOutbox {
  readonly intake: Pick<IntakeStore, 'hourStates' | 'pasts' | 'record' | 'backlog'>
  readonly health: OutboxHealth
}
