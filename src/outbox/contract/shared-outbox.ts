import type { BackfillStore } from './backfill-store.ts'
import type { FleetStore, SharedIntakeStore } from './fleet-store.ts'

/** The parts of an outbox that several daemons share. */
export interface SharedOutbox {
  readonly store: FleetStore
  readonly backfills: BackfillStore
  readonly intake: SharedIntakeStore
}
