import { noItems, type ReadingValue, z } from 'tidegauge'
import { type Fraction, nearestNumber } from './fraction.ts'

/** Option of a sum, count or total: what it is of no items. */
export const noneOption = z
  .literal(0, { error: 'must be 0: what the value is of no items' })
  .optional()
  .describe('0, of no items, also after an hour that had some; where nothing is written, that is held')

/** The reading of a sum, count or total of so many items. */
export function readingOf(number: Fraction, items: number, none: 0 | undefined): ReadingValue {
  return items === 0 && none === undefined ? noItems : nearestNumber(number)
}
