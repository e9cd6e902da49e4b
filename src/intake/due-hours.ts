import type { CollectorConfig } from '../config/config.ts'
import type { Time } from '../edge/time.ts'
import { type Backoff, backoffMs } from '../model/backoff.ts'
import { Fault, faultLine, isPermanent } from '../model/fault.ts'
import { type Hour, hourAt, hourText } from '../model/hour.ts'
import { catchUpConcurrency, hourMs, recollectBaseMs, recollectCapMs } from '../model/limits.ts'
import type { DueHour, DueHoursWanted, HourPlan } from '../outbox/contract/hours.ts'
import type { IntakeOutbox } from '../outbox/contract/outbox.ts'
import type { Log } from '../telemetry/log.ts'
import { hourPassed, oldestCollected } from './hour-clock.ts'
import { type Collected, storedPart } from './validate.ts'

/** Attempts after which a past hour whose state no endpoint has becomes a gap. */
const stateMissingAttemptsMax = 3

/** First wait while a chain has no block past the hour yet: short, since a block is due any second. */
const chainBehindBaseMs = 1_000

const chainBehindCapMs = 30_000

/** A collector whose hours are planned. */
interface Planned {
  readonly collector: Pick<CollectorConfig, 'id' | 'since'>
  /** Whether it can read past hours. */
  readonly history: boolean
  /** The hour of the clock that is believed. */
  readonly current: Hour
  /** Catch-up range of missed hours, in milliseconds. */
  readonly catchUpMs: number
}

/** The hours to expect of a collector; `undefined` for one that is expected only later. Pure. */
export function hourPlanOf({ collector, history, current, catchUpMs }: Planned): HourPlan | undefined {
  const { id, since } = collector
  if (since !== undefined && since > current) return undefined
  return {
    collector: id,
    ...(history && since !== undefined && { since }),
    current,
    oldest: oldestCollected(current, { history }, catchUpMs),
    gapReason: history ? tooOld(catchUpMs) : hourPassed,
  }
}

function tooOld(catchUpMs: number): Fault {
  return new Fault('hour-too-old', `older than the catch-up range of ${catchUpMs / hourMs} h`, {
    fix: 'tidegauge backfill collects it',
  })
}

/**
 * The due hours to start now. The current hour never waits for past ones; each collector has only a few past hours
 * under way, so that one that hangs delays no other.
 *
 * @param due in the order in which they are to be started
 * @param underWay running already; none of them is started again
 */
export function startableHours(due: readonly DueHour[], underWay: readonly DueHour[], current: Hour): DueHour[] {
  const countByCollector = new Map<string, number>()
  const running = new Set<string>()
  const start = ({ collector, hour }: DueHour) => {
    running.add(`${hour} ${collector}`)
    // The current hour does not count against the limit. Otherwise the past hours of one chain would start separately, each
    // with a call of its own.
    if (hour < current) countByCollector.set(collector, (countByCollector.get(collector) ?? 0) + 1)
  }
  underWay.forEach(start)
  return due.filter(entry => {
    const hasRoom = entry.hour >= current || (countByCollector.get(entry.collector) ?? 0) < catchUpConcurrency
    if (running.has(`${entry.hour} ${entry.collector}`) || !hasRoom) return false
    start(entry)
    return true
  })
}

/** The due hours to read of some collectors: of each, at least as many as can be started besides those under way. */
export function dueHoursWanted(
  collectors: readonly { readonly id: string }[],
  underWay: readonly DueHour[],
  current: Hour,
  nowMs: number,
): DueHoursWanted {
  const running = Map.groupBy(underWay, ({ collector }) => collector)
  // Hours under way are due, too.
  const most = collectors.reduce((most, { id }) => Math.max(most, running.get(id)?.length ?? 0), 0)
  return { collectors: collectors.map(({ id }) => id), current, nowMs, limit: most + catchUpConcurrency + 1, underWay }
}

const ordinary: Backoff = { baseMs: recollectBaseMs, capMs: recollectCapMs }
const chainBehind: Backoff = { baseMs: chainBehindBaseMs, capMs: chainBehindCapMs }

/**
 * Wait before a failed hour is retried, in milliseconds; at least half of the backoff, to spare a dead node.
 *
 * @param attempt the failed attempt, counted from 1
 */
export function retryDelayMs(fault: Fault, attempt: number, chance: number): number {
  return backoffMs(fault.code === 'chain-behind' ? chainBehind : ordinary, attempt, 0.5 + chance / 2)
}

interface RecordHourDeps {
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
  collected: Collected,
): Promise<void> {
  const nowMs = time.nowMs()
  const { collector, hour, attempts } = due
  const { accepted, fault } = collected
  const values = { collector, hour, ...storedPart(collected) }
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
    const nextAttempt = new Date(nextAttemptMs).toISOString()
    log[level]({ ...facts, fault: faultLine(fault), attempt: attempts + 1, nextAttempt }, 'not collected')
  }
  for (const { metric, hold } of accepted) {
    if (hold)
      log.warn(
        { metric: metric.id, hour: hourText(hour), reason: hold.reason },
        'metric held, not sent: see tidegauge held ls',
      )
  }
}

/**
 * Whether a failed hour can never be collected. Only past hours, and not at the first attempt: a node that has just
 * started may lack recent state for a while. Pure.
 *
 * @param due the hour as it was before this attempt
 */
function isGap({ code }: Fault, due: Omit<DueHour, 'collector'>, nowMs: number): boolean {
  if (code !== 'chain-state-missing') return code === 'chain-before-first-block'
  if (due.hour >= hourAt(nowMs) || due.attempts + 1 < stateMissingAttemptsMax) return false
  return due.fault?.code === code
}
