import type { Time } from '../edge/time.ts'
import { faultLine, isPermanent } from '../model/fault.ts'
import { hourText } from '../model/hour.ts'
import type { DueHour } from '../outbox/contract/hours.ts'
import type { IntakeOutbox } from '../outbox/contract/outbox.ts'
import type { Log } from '../telemetry/log.ts'
import type { Collected } from './collect.ts'
import { isGap } from './gap.ts'
import { retryDelayMs } from './startable-hours.ts'

/** Dependencies of `recordHour`. */
export interface RecordHourDeps {
  readonly outbox: Pick<IntakeOutbox, 'intake'>
  readonly time: Pick<Time, 'nowMs' | 'chance'>
  readonly log: Log
}

/**
 * Stores the result of a due hour: collected, a gap, or due again after a wait. Rejects with the outbox's error.
 *
 * @param due the hour as it was before this attempt
 */
export async function recordHour(
  { outbox, log, time }: RecordHourDeps,
  due: DueHour,
  { accepted, pins, provenance, fault }: Collected,
): Promise<void> {
  const nowMs = time.nowMs()
  const { collector, hour, attempts } = due
  const values = { collector, hour, accepted, pins, ...(provenance && { provenance }) }
  const facts = { collector, hour: hourText(hour), metrics: accepted.length }
  if (!fault) {
    await outbox.intake.record(values, nowMs)
  } else if (isGap(fault, due, nowMs)) {
    await outbox.intake.recordGap(collector, hour, fault)
    log.error({ ...facts, fault: faultLine(fault) }, 'an hour that cannot be collected: a gap')
  } else {
    const nextAttemptMs = nowMs + retryDelayMs(fault, attempts + 1, time.chance())
    await outbox.intake.record({ ...values, failed: { fault, nextAttemptMs } }, nowMs)
    const level = fault.code === 'chain-behind' ? 'debug' : isPermanent(fault) ? 'error' : 'warn'
    log[level]({ ...facts, fault: faultLine(fault), attempt: attempts + 1 }, 'not collected')
  }
  for (const { metric, hold } of accepted) {
    if (hold)
      log.warn(
        { metric: metric.id, hour: hourText(hour), reason: hold.reason },
        'metric held, not sent: see tidegauge held ls',
      )
  }
}
