import { noItems, type ReadingValue, z } from 'tidegauge'
import { type Fraction, nearestNumber } from './fraction.ts'

/** Option of a sum, count or total: what it is of no items. */
export const noneOption = z
  .literal(0, { error: 'must be 0: what the value is of no items' })
  .optional()
  .describe('0, of no items, also after an hour that had some; where nothing is written, that is held')

/** Mistakes of `none` next to addresses of which there is always one. @param addresses options that may name a list */
export function noneMistakes(
  valueOfNone: 0 | undefined,
  ...addresses: readonly unknown[]
): readonly { readonly path: readonly string[]; readonly message: string }[] {
  const mayBeNone = addresses.flat().some(each => typeof each === 'object' && each !== null && 'each' in each)
  if (valueOfNone === undefined || mayBeNone) return []
  return [
    { path: ['none'], message: 'belongs to a list, { each: NAME }: of addresses that stand here there is always one' },
  ]
}

/** The reading of a sum, count or total of so many items. */
export function readingOf(number: Fraction, items: number, none: 0 | undefined): ReadingValue {
  return items === 0 && none === undefined ? noItems : nearestNumber(number)
}
