import { type Hour, hourAfter } from '../model/hour.ts'
import { hourMs } from '../model/limits.ts'

/** The oldest hour within the catch-up range. */
export function oldestCaughtUp(current: Hour, catchUpMs: number): Hour {
  return hourAfter(current, -Math.ceil(catchUpMs / hourMs))
}
