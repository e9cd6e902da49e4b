import { type Backoff, backoffMs } from '../model/backoff.ts'
import type { Fault } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import { catchUpConcurrency, recollectBaseMs, recollectCapMs } from '../model/limits.ts'
import type { DueHour, DueHoursWanted } from '../outbox/contract/hours.ts'
import { chainBehindBaseMs, chainBehindCapMs } from './limits.ts'

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
    // The current one takes no room: the collectors of a chain would begin its past hours apart, each with a call of its own.
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
