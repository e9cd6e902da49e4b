import { hourAt } from '../model/hour.ts'
import { overdueMs } from '../model/limits.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import { readFleet } from '../status/fleet.ts'
import { latenessWanted, readinessOf } from '../status/readiness.ts'
import type { Observed } from '../status/sources.ts'
import type { AppContext } from './context.ts'

/** Dependencies of `startReports`. */
export interface ReportingDeps {
  readonly context: AppContext
  readonly outbox: Pick<Outbox, 'status' | 'reports' | 'health'>
  /** The present state. */
  readonly now: () => Observed
  /** Whether this daemon is the one that reports. */
  readonly mayReport: () => boolean
}

/** Starts the reports to people that are configured; stopped with the stack. Others are not loaded. */
export async function startReports(deps: ReportingDeps, stack: AsyncDisposableStack): Promise<void> {
  const { heartbeat, notify } = deps.context.config
  if (heartbeat) await startHeartbeat(deps, heartbeat, stack)
  if (notify.length > 0) await startNotifier(deps, stack)
}

async function startHeartbeat(
  { context, outbox, now, mayReport }: ReportingDeps,
  config: NonNullable<AppContext['config']['heartbeat']>,
  stack: AsyncDisposableStack,
): Promise<void> {
  const { time, clock, log, redactor, kept } = context
  const { Heartbeat } = await import('../reports/heartbeat/heartbeat.ts')
  const presentHour = () => (clock ? clock.hour : hourAt(time.nowMs()))
  const heartbeat = new Heartbeat({
    ...config,
    outbox,
    hour: () => (mayReport() ? presentHour() : undefined),
    async look(hour) {
      const observation = now()
      const { nowMs, startedAtMs } = observation
      const lateness = await outbox.status.lateness({ ...latenessWanted(observation), hour })
      // A result that is known is not excused by a start.
      const ready = readinessOf(
        { ...observation, startedAtMs: nowMs - overdueMs },
        lateness,
        await readFleet(observation),
        hour,
      )
      return { hour, lateness, ready, nowMs, startedAtMs }
    },
    time,
    log,
    redactor,
    counters: kept?.counters,
  })
  stack.defer(() => heartbeat.stop())
}

async function startNotifier({ context, outbox, now }: ReportingDeps, stack: AsyncDisposableStack): Promise<void> {
  const { config, time, log, redactor, kept } = context
  const [{ Notifier }, { receiverOf }, { troublesOf }] = await Promise.all([
    import('../reports/notify/notifier.ts'),
    import('../reports/notify/receivers.ts'),
    import('../reports/notify/troubles.ts'),
  ])
  const all = config.notify.map(receiver => receiverOf(receiver, secrets => redactor.add(secrets)))
  // A receiver that is written twice gets each notice once.
  const receivers = [...new Map(all.map(receiver => [receiver.name, receiver])).values()]
  const notifier = new Notifier({
    receivers,
    outbox,
    async look() {
      const observed = now()
      const wanted = latenessWanted(observed)
      const [lateness, unresolved] = await Promise.all([outbox.status.lateness(wanted), outbox.status.unresolved()])
      return troublesOf({ ...observed, hour: wanted.hour, lateness, unresolved })
    },
    time,
    log,
    redactor,
    counters: kept?.counters,
  })
  stack.defer(() => notifier.stop())
}
