import type { Metric, MetricSpec } from '../model/metric.ts'
import { type Hold, type Past, unitHold } from '../outbox/contract/metrics.ts'

/**
 * Why a value is held until a person decides; `undefined` when it is plausible. Pure.
 *
 * @param past of its metric id; absent for the first value
 */
export function holdOf(metric: Metric, { min, max, maxJump }: MetricSpec, past: Past | undefined): Hold | undefined {
  const { value } = metric
  const bounds = (reason: string): Hold => ({ kind: 'bounds', reason })
  const other = past && unitHold(metric, past)
  if (other) return other
  if (min !== undefined && value < min) return bounds(`${value} is below the declared minimum of ${min}`)
  if (max !== undefined && value > max) return bounds(`${value} is above the declared maximum of ${max}`)
  const { previous } = past ?? {}
  if (maxJump === undefined || previous === undefined || !isJump(previous.value, value, maxJump)) return undefined
  return { kind: 'jump', reason: `${value} after ${previous.value} is a jump of more than the declared ${maxJump}` }
}

function isJump(previous: number, value: number, maxJump: number | string): boolean {
  const jump = Math.abs(value - previous)
  if (typeof maxJump === 'number') return jump > maxJump
  return jump > Math.abs(previous) * (Number.parseFloat(maxJump) / 100)
}
