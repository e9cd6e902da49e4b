import { Fault } from '../model/fault.ts'
import { type Hour, hourAfter } from '../model/hour.ts'
import { hourMs } from '../model/limits.ts'
import type { CollectorDescription } from '../runner/runner.ts'

type CanReadThePast = Pick<CollectorDescription, 'history'>

/** Why an hour of a collector is not collected, or its answer is not used: see `canCollect`. */
export const hourPassed = new Fault('hour-passed', 'the hour has passed, and this collector reads only "now"')

/**
 * Whether a collector can be asked for an hour, and its answer be used: one that reads only the present can be asked for
 * the current hour alone. Pure.
 *
 * @param now the current hour; `undefined` while it is not known
 */
export function canCollect(hour: Hour, now: Hour | undefined, { history }: CanReadThePast): boolean {
  return history || (now !== undefined && hour >= now)
}

/** The oldest hour that is still collected without a request: those before it are gaps. */
export function oldestCollected(now: Hour, { history }: CanReadThePast, catchUpMs: number): Hour {
  return history ? hourAfter(now, -Math.ceil(catchUpMs / hourMs)) : now
}
