import type { Fault } from '../../model/fault.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import { hourMs } from '../../model/limits.ts'

/**
 * The first hour at which a chain had a block, by its Fault `chain-before-first-block`; `undefined` for another Fault.
 */
export function firstHour({ code, facts }: Fault): Hour | undefined {
  if (code !== 'chain-before-first-block') return undefined
  const firstMs = Date.parse(String(facts['firstBlockAt']))
  return Number.isNaN(firstMs) ? undefined : hourAt(firstMs + hourMs - 1)
}
