import type { Fault } from '../../model/fault.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import { hourMs } from '../../model/limits.ts'

/** The first hour a chain had a block at, as its Fault `chain-before-first-block` says; `undefined` where it does not. */
export function firstHour({ code, facts }: Fault): Hour | undefined {
  if (code !== 'chain-before-first-block') return undefined
  const firstMs = Date.parse(String(facts['firstBlockAt']))
  return Number.isNaN(firstMs) ? undefined : hourAt(firstMs + hourMs - 1)
}
