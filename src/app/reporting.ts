import type { Outbox } from '../outbox/contract/outbox.ts'
import type { Observed } from '../status/observed.ts'
import { latenessWanted } from '../status/readiness.ts'
import type { AppContext } from './context.ts'

/** Dependencies of `startReports`. */
export interface ReportingDeps {
  readonly context: AppContext
  readonly outbox: Pick<Outbox, 'status' | 'reports' | 'health'>
  /** The present state. */
  readonly now: () => Observed
}

/** Starts what reports to people, as far as it is configured; stopped with the stack. Without it nothing is loaded. */
export async function startReports(
  { context, outbox, now }: ReportingDeps,
  stack: AsyncDisposableStack,
): Promise<void> {
  const { config, time, clock, log, redactor } = context
  const collectors = config.protocols.flatMap(protocol => protocol.collectors.map(({ id }) => id))
  if (!config.heartbeat) return
  const { Heartbeat } = await import('../reports/heartbeat/heartbeat.ts')
  const heartbeat = new Heartbeat({
    ...config.heartbeat,
    outbox,
    hour: () => clock?.hour,
    async look(hour) {
      const observed = now()
      const { nowMs, startedAtMs, host } = observed
      const lateness = await outbox.status.lateness({ ...latenessWanted(observed), hour })
      return { hour, lateness, collectors, host, nowMs, startedAtMs }
    },
    time,
    log,
    redactor,
  })
  stack.defer(() => heartbeat.stop())
}
