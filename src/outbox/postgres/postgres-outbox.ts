import type { Time } from '../../edge/time.ts'
import type { DeliveryStore } from '../contract/delivery-store.ts'
import type { OperatorStore } from '../contract/operator-store.ts'
import type { Outbox } from '../contract/outbox.ts'
import type { ReportStore } from '../contract/report-store.ts'
import type { SharedOutbox } from '../contract/shared-outbox.ts'
import type { StatusStore } from '../contract/status-store.ts'
import type { UpkeepDeps } from '../contract/upkeep.ts'
import type { PostgresDatabase } from './connection/database.ts'
import { PostgresHealth } from './connection/health.ts'
import { PostgresBackfillStore } from './stores/backfill-store.ts'
import { PostgresDeliveryStore } from './stores/delivery-store.ts'
import { PostgresFleetStore } from './stores/fleet-store.ts'
import { PostgresIntakeStore } from './stores/intake-store.ts'
import { PostgresOperatorStore } from './stores/operator-store.ts'
import { PostgresReportStore } from './stores/report-store.ts'
import { PostgresStatusStore } from './stores/status-store.ts'
import { UnsentMetrics } from './tables/unsent-metrics.ts'
import { PostgresUpkeep } from './upkeep.ts'

/** Time for which a write is tried again once the process stops. */
const stopMs = 2_000

/** An outbox in a PostgreSQL database, which any number of processes may have open. */
export class PostgresOutbox implements Outbox {
  readonly intake: PostgresIntakeStore
  readonly delivery: DeliveryStore
  readonly operators: OperatorStore
  readonly status: StatusStore
  readonly reports: ReportStore
  readonly shared: SharedOutbox
  readonly health: PostgresHealth
  /** For who takes part in the same commits. */
  readonly database: PostgresDatabase
  /** Metrics that this process has enqueued and not sent. */
  readonly unsent = new UnsentMetrics()
  readonly #time: Pick<Time, 'sleep'>
  readonly #closed = new AbortController()

  constructor(database: PostgresDatabase, time: Pick<Time, 'sleep'>) {
    this.database = database
    this.#time = time
    this.health = new PostgresHealth(database.place, () => this.#touch())
    this.intake = new PostgresIntakeStore(this)
    this.delivery = new PostgresDeliveryStore(this)
    this.operators = new PostgresOperatorStore(database)
    this.status = new PostgresStatusStore(database)
    this.reports = new PostgresReportStore(database)
    this.shared = {
      store: new PostgresFleetStore(database),
      backfills: new PostgresBackfillStore(database),
      intake: this.intake,
      jobs: database.jobs,
    }
  }

  startUpkeep(deps: UpkeepDeps): { stop(): Promise<void> } {
    return new PostgresUpkeep(this, deps)
  }

  limitWaits(): void {
    this.database.limitWaits()
    this.#time.sleep(stopMs, this.#closed.signal).then(
      () => this.database.giveUp(),
      () => {},
    )
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('closed'))
    await this.database.close()
  }

  #touch(): Promise<void> {
    return this.database.write(async transaction => transaction.later('UPDATE tidegauge.version SET version = version'))
  }
}
