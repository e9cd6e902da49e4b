import { hourMs } from '../../model/limits.ts'

/** The two spans of changes. */
export const spansMs = { change1h: hourMs, change24h: 24 * hourMs } as const

/**
 * Time for which a value stays valid: one hour, the posting interval the interface recommends. A base is the newest
 * value in `(instant − span − standsMs, instant − span]`. With values every full hour that is the value exactly one
 * span before; a missing hour gives no base instead of an older one.
 */
export const standsMs = hourMs

/**
 * Change from a base to a value, in the metric's unit: a difference, which exists for a base of 0, unlike a percentage.
 *
 * @returns `undefined` without a base, and when the difference is too large for a double
 */
export function change(value: number, base: number | undefined): number | undefined {
  if (base === undefined) return undefined
  const difference = value - base
  return Number.isFinite(difference) ? difference : undefined
}
