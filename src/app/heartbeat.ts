import { faultLine } from '../model/fault.ts'
import { hourAt } from '../model/hour.ts'
import { overdueMs } from '../model/limits.ts'
import { readFleet } from '../status/fleet.ts'
import { latenessWanted, readinessOf } from '../status/readiness.ts'
import { createLog } from '../telemetry/log.ts'
import type { AppContext } from './context.ts'
import type { ReportingDeps } from './reporting-deps.ts'

/** Starts the reports of each hour to the heartbeat; what that needs is loaded here. */
export async function startHeartbeat(
  { context, outbox, now, mayReport }: ReportingDeps,
  config: NonNullable<AppContext['config']['heartbeat']>,
  stack: AsyncDisposableStack,
): Promise<void> {
  const { time, clock, log, redactor, keptCounts } = context
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
    counters: keptCounts?.counters,
  })
  stack.defer(() => heartbeat.stop())
}

/** Attempts at one ping: the run ends soon after its work. */
const pingAttemptsMax = 3

/**
 * Runs work that is reported to the heartbeat, if one is configured: that it begins, and its result. The work does not
 * wait for the first ping, and never fails because of one.
 *
 * @param work resolves to why it is a failure, a sentence each
 * @returns whether it is a success
 */
export async function withHeartbeat(
  { config, time, redactor }: AppContext,
  work: () => Promise<readonly string[]>,
): Promise<boolean> {
  if (!config.heartbeat) return (await work()).length === 0
  const hour = hourAt(time.nowMs())
  const { PingSender } = await import('../reports/heartbeat/heartbeat.ts')
  // The person who runs this sees why a ping is not accepted.
  const log = createLog('warn', redactor)
  const sender = new PingSender({ ...config.heartbeat, time, log, redactor, attemptsMax: pingAttemptsMax })
  void sender.send({ kind: 'start', hour, sentences: [] })
  const end = async (sentences: readonly string[]) => {
    await sender.send({ kind: sentences.length === 0 ? 'success' : 'fail', hour, sentences })
    return sentences.length === 0
  }
  try {
    return await end(await work())
  } catch (error) {
    await end([faultLine(error)])
    throw error
  }
}
