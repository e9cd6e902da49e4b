import { z } from 'tidegauge'
import { type Fraction, fractionOf, nearestNumber, scaled } from '../fraction.ts'
import { decimalAt, jsonPointer } from '../json-answer.ts'
import { conditions } from '../json-items.ts'

/** Decimals of a price in an answer: a number, or where the answer has it, as an exponent does. */
export const answeredDecimals = z.union([z.int().min(0).max(255), jsonPointer], {
  error: 'must be a whole number from 0 to 255, or a pointer to an exponent like /price/expo',
})

/** Options of a price that an address answers: what must hold of it. */
export const answeredOptions = {
  require: conditions
    .optional()
    .describe(
      'what must stand at each pointer of the answer, else there is no price: a value, a list, { min, max, not }',
    ),
  min: z.number().optional().describe('a lower number is no price'),
  max: z.number().optional().describe('a higher number is no price'),
}

interface AnsweredForm {
  readonly decimals?: z.output<typeof answeredDecimals> | undefined
  readonly min?: number | undefined
  readonly max?: number | undefined
}

/** The price at a pointer of an answer. @throws Error when there is no number, or it is out of bounds */
export function answeredPrice(json: unknown, pointer: string, { decimals = 0, min, max }: AnsweredForm): Fraction {
  const price = fractionOf(decimalAt(json, pointer)).mul(scaled(1n, digitsIn(json, decimals)))
  if (min !== undefined && price.compare(fractionOf(min)) < 0)
    throw new Error(`it is ${nearestNumber(price)}, which is below min: ${min}`)
  if (max !== undefined && price.compare(fractionOf(max)) > 0)
    throw new Error(`it is ${nearestNumber(price)}, which is above max: ${max}`)
  return price
}

/** Digits after the point. A source may write them as an exponent, which is negative. */
function digitsIn(json: unknown, decimals: z.output<typeof answeredDecimals>): number {
  if (typeof decimals === 'number') return decimals
  const digits = Math.abs(Number(decimalAt(json, decimals)))
  if (Number.isInteger(digits) && digits <= 255) return digits
  throw new Error(`at ${decimals} there is no exponent`)
}
