import type { RoleClaim, RoleWork } from '../fleet/role-claim.ts'
import type { Reporter, ReportStore } from '../outbox/contract/report-store.ts'
import { type ReportingDeps, startReports } from './reporting.ts'

/** Name of the role of the daemon that reports for its fleet. */
export const reportsRole = 'reports'

/** Dependencies of `fleetReporting`. */
export interface FleetReportingDeps extends Omit<ReportingDeps, 'mayReport'> {
  /** Whether this daemon has the role. It may lose it at any time, as when it is paused. */
  readonly role: () => Pick<RoleClaim, 'isHeld'>
}

/**
 * The reports to people as the work of the daemon that has the role for them, so that each is sent by one daemon. The next
 * one goes on with the stored state.
 */
export function fleetReporting({ context, outbox, now, role }: FleetReportingDeps): RoleWork {
  const mayReport = () => role().isHeld
  const { status, health } = outbox
  const reports = new HeldReports(outbox.reports, mayReport)
  const held = {
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
      await startReports(held, stack)
      context.log.info('this daemon reports now')
      const own = stack.move()
      return async () => {
        await own.disposeAsync()
        context.log.info('this daemon does not report any more')
      }
    },
  }
}

/** The memory of reports while the role is held: a daemon without it would overwrite what another one has reported. */
class HeldReports implements ReportStore {
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

/** @throws Error without the role; it is tried again at the next look */
function requireRole(mayReport: () => boolean): void {
  if (!mayReport()) throw new Error('another daemon of the fleet reports')
}
