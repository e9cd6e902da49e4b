import type { CollectorConfig } from '../config/config.ts'
import { Fault } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import { catchUpConcurrency, hourMs } from '../model/limits.ts'
import type { DueHour, DueHoursWanted, HourPlan } from '../outbox/contract/hours.ts'
import { hourPassed, oldestCollected } from './hour-clock.ts'

/** A collector whose hours are planned. */
interface Planned {
  readonly collector: Pick<CollectorConfig, 'id' | 'since' | 'at'>
  /** Whether it can read past hours. */
  readonly history: boolean
  /** The hour of the clock that is believed. */
  readonly current: Hour
  /** Catch-up range of missed hours, in milliseconds. */
  readonly catchUpMs: number
}

/** The hours to expect of a collector; `undefined` for one that is expected only later. Pure. */
export function hourPlanOf({ collector, history, current, catchUpMs }: Planned): HourPlan | undefined {
  const { id, since, at: dayHours } = collector
  if (since !== undefined && since > current) return undefined
  return {
    collector: id,
    ...(history && since !== undefined && { since }),
    ...(dayHours && { at: dayHours }),
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
 * @param dueHours in the order in which they are to be started
 * @param underWay running already; none of them is started again
 */
export function startableHours(dueHours: readonly DueHour[], underWay: readonly DueHour[], current: Hour): DueHour[] {
  const countByCollector = new Map<string, number>()
  const runningKeys = new Set<string>()
  const start = ({ collector, hour }: DueHour) => {
    runningKeys.add(`${hour} ${collector}`)
    // The current hour does not count against the limit. Otherwise the past hours of one chain would start separately, each
    // with a call of its own.
    if (hour < current) countByCollector.set(collector, (countByCollector.get(collector) ?? 0) + 1)
  }
  underWay.forEach(start)
  return dueHours.filter(entry => {
    const hasRoom = entry.hour >= current || (countByCollector.get(entry.collector) ?? 0) < catchUpConcurrency
    if (runningKeys.has(`${entry.hour} ${entry.collector}`) || !hasRoom) return false
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
