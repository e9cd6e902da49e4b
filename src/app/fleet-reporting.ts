import type { Lease, LeaseWork } from '../fleet/leases.ts'
import type { Reporter, ReportStore } from '../outbox/contract/outbox.ts'
import { startReports } from './reporting.ts'
import type { ReportingDeps } from './reporting-deps.ts'

/** Name of the lease of the daemon that reports for its fleet. */
export const reportsRole = 'reports'

/**
 * The reports to people as the work of the daemon that has the lease of them, so that each is sent by one daemon. The next
 * one goes on with the stored state.
 *
 * @param lease may be lost at any time, as when the daemon is paused
 */
export function fleetReporting(
  { context, outbox, now }: Omit<ReportingDeps, 'mayReport'>,
  lease: () => Pick<Lease, 'isHeld'>,
): LeaseWork {
  const mayReport = () => lease().isHeld
  const { status, health } = outbox
  const reports = new OwnedReports(outbox.reports, mayReport)
  const reportsDeps = {
    context,
    outbox: { status, health, reports },
    mayReport,
    now: () => {
      requireRole(mayReport)
      return now()
    },
  }
  return {
    async begin() {
      await using stack = new AsyncDisposableStack()
      await startReports(reportsDeps, stack)
      context.log.info('this daemon reports now')
      const own = stack.move()
      return async () => {
        await own.disposeAsync()
        context.log.info('this daemon does not report any more')
      }
    },
  }
}

/** The memory of reports while the lease is held: a daemon without it would overwrite what another one has reported. */
class OwnedReports implements ReportStore {
  readonly #reports: ReportStore
  readonly #mayReport: () => boolean

  constructor(reports: ReportStore, mayReport: () => boolean) {
    this.#reports = reports
    this.#mayReport = mayReport
  }

  async read(reporter: Reporter): Promise<string | undefined> {
    requireRole(this.#mayReport)
    return this.#reports.read(reporter)
  }

  async save(reporter: Reporter, state: string): Promise<void> {
    requireRole(this.#mayReport)
    await this.#reports.save(reporter, state)
  }
}

/** @throws Error without the lease; it is tried again at the next look */
function requireRole(mayReport: () => boolean): void {
  if (!mayReport()) throw new Error('another daemon of the fleet reports')
}
