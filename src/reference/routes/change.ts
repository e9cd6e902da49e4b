import { hourMs } from '../../model/limits.ts'

/** The two spans over which a change is told. */
export const spansMs = { change1h: hourMs, change24h: 24 * hourMs } as const

/**
 * How long a value stands for what follows it: one hour, the posting cadence the interface recommends. A base is the
 * newest value in `(instant − span − standsMs, instant − span]`; with values every full hour that is the value exactly
 * one span before, and a missing hour gives no base instead of an older one.
 */
export const standsMs = hourMs

/**
 * The change from a base to a value, in the metric's unit (a difference, not a percentage: it exists for a base of 0).
 *
 * @returns `undefined` without a base, and where the difference is too large for a double
 */
export function change(value: number, base: number | undefined): number | undefined {
  if (base === undefined) return undefined
  const difference = value - base
  return Number.isFinite(difference) ? difference : undefined
}
