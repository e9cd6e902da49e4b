import type { DeliveryStore } from '../contract/delivery-store.ts'
import type { OutboxHealth } from '../contract/health.ts'
import type { IntakeStore } from '../contract/intake-store.ts'
import type { OperatorStore } from '../contract/operator-store.ts'
import type { Outbox } from '../contract/outbox.ts'
import type { ReportStore } from '../contract/report-store.ts'
import type { StatusStore } from '../contract/status-store.ts'
import type { UpkeepDeps } from '../contract/upkeep.ts'
import { SqliteDeliveryStore } from './stores/delivery-store.ts'
import { FileHealth } from './stores/health.ts'
import { SqliteIntakeStore } from './stores/intake-store.ts'
import { SqliteOperatorStore } from './stores/operator-store.ts'
import { SqliteReportStore } from './stores/report-store.ts'
import { SqliteStatusStore } from './stores/status-store.ts'
import { OutboxTables } from './tables/outbox-tables.ts'
import { Upkeep } from './upkeep.ts'

/** An outbox in an SQLite file. */
export class SqliteOutbox extends OutboxTables implements Outbox {
  readonly intake: IntakeStore = new SqliteIntakeStore(this)
  readonly delivery: DeliveryStore = new SqliteDeliveryStore(this)
  readonly operators: OperatorStore = new SqliteOperatorStore(this)
  readonly status: StatusStore = new SqliteStatusStore(this)
  readonly reports: ReportStore = new SqliteReportStore(this)
  readonly health: OutboxHealth = new FileHealth(this)

  startUpkeep(deps: UpkeepDeps): { stop(): Promise<void> } {
    return new Upkeep(this, deps)
  }

  limitWaits(): void {
    this.writer.giveUpLater()
  }

  override async close(): Promise<void> {
    super.close()
  }
}
