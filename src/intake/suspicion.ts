import type { Metric, MetricSpec } from '../model/metric.ts'
import type { Hold, Past } from '../outbox/metrics.ts'

/**
 * Why a value needs a person's look before it is sent; `undefined` when it does not. Pure.
 *
 * @param past of its metric id; absent for the first value ever
 */
export function suspicion(metric: Metric, { min, max, maxJump }: MetricSpec, past: Past | undefined): Hold | undefined {
  const { value } = metric
  const bounds = (reason: string): Hold => ({ kind: 'bounds', reason })
  if (past && past.unit !== metric.unit) return { kind: 'unit', reason: unitReason(metric, past) }
  if (min !== undefined && value < min) return bounds(`${value} is below the declared minimum of ${min}`)
  if (max !== undefined && value > max) return bounds(`${value} is above the declared maximum of ${max}`)
  const { previous } = past ?? {}
  if (maxJump === undefined || previous === undefined || !isJump(previous, value, maxJump)) return undefined
  return { kind: 'jump', reason: `${value} after ${previous} is a jump of more than the declared ${maxJump}` }
}

function unitReason({ unit }: Metric, past: Past): string {
  const was = past.unit === undefined ? 'there was none so far' : `was ${past.unit} so far`
  return `the unit is ${unit ?? 'gone'}, and ${was}: held until --allow-unit-change`
}

function isJump(previous: number, value: number, maxJump: number | string): boolean {
  const jump = Math.abs(value - previous)
  if (typeof maxJump === 'number') return jump > maxJump
  return jump > Math.abs(previous) * (Number.parseFloat(maxJump) / 100)
}
