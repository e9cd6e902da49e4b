import { type CollectorLog, z } from 'tidegauge'
import { type Fraction, fractionOf } from '../fraction.ts'

/** Option of a sum in which an amount without a price may be left out. */
export const unpricedOption = z
  .literal('leave out', { error: 'must be leave out; without it, what has no price fails the sum' })
  .optional()
  .describe('leave out: what has no price is left out, and named in the log. Default: it fails the sum')

/** Option of the share that must have a price. */
export const atLeastOption = z
  .number()
  .positive()
  .max(1)
  .optional()
  .describe('with unpriced: leave out, the share that must have a price. Default: none must')

interface UnpricedOptions {
  readonly unpriced?: z.output<typeof unpricedOption>
  readonly atLeast?: number | undefined
}

/** Mistakes in both options, offline. @param isPriced whether there is a price at all */
export function unpricedMistakes(
  { unpriced: unpricedRule, atLeast }: UnpricedOptions,
  isPriced: boolean,
): { readonly path: string[]; readonly message: string }[] {
  if (unpricedRule !== undefined && !isPriced)
    return [{ path: ['unpriced'], message: 'belongs to a sum with prices: add price: token, or the name of a price' }]
  if (atLeast !== undefined && unpricedRule === undefined)
    return [{ path: ['atLeast'], message: 'belongs to unpriced: leave out' }]
  return []
}

/** Parts of a sum, and why some have no price. */
export interface LeftOut {
  /** Number of all items. */
  readonly items: number
  readonly reasons: readonly { readonly items: number; readonly message: string }[]
}

/** A part of a sum, of so many items. */
interface SumPart {
  readonly items: number
}

/**
 * The values of the parts of a sum. One without a price is left out where that is asked for.
 *
 * @throws the failure of a part otherwise; and always that of a read which may succeed later
 */
export async function pricedParts<P extends SumPart>(
  parts: readonly P[],
  worth: (part: P) => Promise<Fraction>,
  onUnpriced: UnpricedOptions['unpriced'],
): Promise<{ readonly values: readonly Fraction[]; readonly leftOut: LeftOut }> {
  const results = await Promise.allSettled(parts.map(worth))
  const values: Fraction[] = []
  const reasons: { items: number; message: string }[] = []
  for (const [place, result] of results.entries()) {
    if (result.status === 'fulfilled') values.push(result.value)
    else if (onUnpriced === undefined || !hasNoPrice(result.reason)) throw result.reason
    else reasons.push({ items: parts[place]?.items ?? 1, message: (result.reason as Error).message })
  }
  return { values, leftOut: { items: parts.reduce((sum, { items }) => sum + items, 0), reasons } }
}

/** Whether it says for certain that there is no price: a source that could not be asked may have one. */
function hasNoPrice(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === 'price-missing'
}

/** The first of several values that has a price. @throws the failure of the first that is of another kind, or the last */
export async function firstPriced(values: readonly (() => Promise<Fraction>)[]): Promise<Fraction> {
  let failure: unknown
  for (const value of values) {
    try {
      return await value()
    } catch (error) {
      if (!hasNoPrice(error)) throw error
      failure = error
    }
  }
  throw failure
}

/** Parts that are named in the log. */
const namedMax = 10

/** Logs what was left out. @throws Error when fewer have a price than must */
export function checkLeftOut(
  label: string,
  leftOut: readonly LeftOut[],
  { atLeast = 0 }: UnpricedOptions,
  log: CollectorLog,
): void {
  const reasons = leftOut.flatMap(each => each.reasons)
  if (reasons.length === 0) return
  const total = leftOut.reduce((sum, { items }) => sum + items, 0)
  const unpricedCount = reasons.reduce((sum, { items }) => sum + items, 0)
  const words = `${unpricedCount} of ${total} have no price`
  const messages = reasons.slice(0, namedMax).map(({ message }) => message)
  if (
    fractionOf(atLeast)
      .mul(total)
      .compare(total - unpricedCount) > 0
  )
    throw new Error(`${words}, and atLeast is ${atLeast}: ${messages[0]}`)
  log.warn(`${label}: ${words}, and are left out`, { items: messages.join('; ') })
}
