import type { Fault } from '../model/fault.ts'
import { hourAt } from '../model/hour.ts'
import type { DueHour } from '../outbox/contract/hours.ts'
import { stateMissingAttemptsMax } from './limits.ts'

/**
 * Whether a failed hour can never be collected. Only past hours, and not at the first attempt: a node that has just
 * started may lack recent state for a while. Pure.
 *
 * @param due the hour as it was before this attempt
 */
export function isGap({ code }: Fault, due: Omit<DueHour, 'collector'>, nowMs: number): boolean {
  if (code !== 'chain-state-missing') return code === 'chain-before-first-block'
  if (due.hour >= hourAt(nowMs) || due.attempts + 1 < stateMissingAttemptsMax) return false
  return due.fault?.code === code
}
