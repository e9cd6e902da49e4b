import type { Fault } from '../model/fault.ts'
import { hourAt } from '../model/hour.ts'
import type { DueHour } from '../outbox/contract/hours.ts'
import type { ExpectedHours } from '../outbox/sqlite/tables/expected-hours.ts'
import { stateMissingAttemptsMax } from './limits.ts'

/**
 * Whether a failed hour can never be collected. Only past hours, and not at the first attempt: a node that has just
 * started may lack recent state for a while.
 */
export function isGap(
  expectedHours: Pick<ExpectedHours, 'between'>,
  { code }: Fault,
  { collector, hour, attempts }: DueHour,
  nowMs: number,
): boolean {
  if (code !== 'chain-state-missing') return code === 'chain-before-first-block'
  if (hour >= hourAt(nowMs) || attempts + 1 < stateMissingAttemptsMax) return false
  const row = expectedHours.between(hour, hour).find(each => each.collector === collector)
  return row?.fault?.code === code
}
