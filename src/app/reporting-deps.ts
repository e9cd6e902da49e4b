import type { Outbox } from '../outbox/contract/outbox.ts'
import type { Observed } from '../status/sources.ts'
import type { AppContext } from './context.ts'

/** Dependencies of the reports to people. */
export interface ReportingDeps {
  readonly context: AppContext
  readonly outbox: Pick<Outbox, 'status' | 'reports' | 'health'>
  /** The present state. */
  readonly now: () => Observed
  /** Whether this daemon is the one that reports. */
  readonly mayReport: () => boolean
}
