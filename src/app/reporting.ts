import { startHeartbeat } from './heartbeat.ts'
import { startNotifier } from './notifier.ts'
import type { ReportingDeps } from './reporting-deps.ts'

/** Starts the reports to people that are configured; stopped with the stack. Others are not loaded. */
export async function startReports(deps: ReportingDeps, stack: AsyncDisposableStack): Promise<void> {
  const { heartbeat, notify } = deps.context.config
  if (heartbeat) await startHeartbeat(deps, heartbeat, stack)
  if (notify.length > 0) await startNotifier(deps, stack)
}
