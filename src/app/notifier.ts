import { readFleet } from '../status/fleet.ts'
import { latenessWanted } from '../status/readiness.ts'
import type { ReportingDeps } from './reporting-deps.ts'

/** Starts the notices to receivers; what that needs is loaded here. */
export async function startNotifier(
  { context, outbox, now }: ReportingDeps,
  stack: AsyncDisposableStack,
): Promise<void> {
  const { config, time, log, redactor, keptCounts } = context
  const [{ Notifier }, { receiverOf }, { troublesOf }] = await Promise.all([
    import('../reports/notify/notifier.ts'),
    import('../reports/notify/receivers.ts'),
    import('../reports/notify/troubles.ts'),
  ])
  const allReceivers = config.notify.map(receiver => receiverOf(receiver, secrets => redactor.add(secrets)))
  // A receiver that is written twice gets each notice once.
  const receivers = [...new Map(allReceivers.map(receiver => [receiver.name, receiver])).values()]
  const notifier = new Notifier({
    receivers,
    outbox,
    async look() {
      const observation = now()
      const latenessQuery = latenessWanted(observation)
      const [lateness, unresolvedCounts, fleet] = await Promise.all([
        outbox.status.lateness(latenessQuery),
        outbox.status.unresolved(),
        readFleet(observation),
      ])
      return troublesOf({ ...observation, hour: latenessQuery.hour, lateness, unresolvedCounts, fleet })
    },
    time,
    log,
    redactor,
    counters: keptCounts?.counters,
  })
  stack.defer(() => notifier.stop())
}
