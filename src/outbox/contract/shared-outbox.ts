import type { BackfillStore } from './backfill-store.ts'
import type { FleetStore, SharedIntakeStore } from './fleet-store.ts'

/** Connections on which statements run, each in a transaction of its own. */
export interface StatementRunner {
  /** @param values of `$1`, `$2`, …; without them `text` may be several statements, whose results are a list then */
  executeSql(text: string, values?: readonly unknown[]): Promise<{ readonly rows: unknown[] }>
}

/** The parts of an outbox that several daemons share. */
export interface SharedOutbox {
  readonly store: FleetStore
  readonly backfills: BackfillStore
  readonly intake: SharedIntakeStore
  /** For the job engine; they end with the outbox. */
  readonly jobs: StatementRunner
}
