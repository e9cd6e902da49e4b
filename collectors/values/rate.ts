import { z } from 'tidegauge'
import { Fraction } from './fraction.ts'

/** Yearly rates: APR is simple, APY is compounded each second. */
export const rateKinds = z.enum(['APR', 'APY'])

export type RateKind = z.output<typeof rateKinds>

/** Of a year of 365 days, as lending protocols count it. */
export const secondsOfYear = 31_536_000n

/** More than any double needs: what is cut off in 25 squarings decides nothing. */
const precision = 10n ** 80n
/** Above it a year of compounding is more than the largest double. */
const compoundableMax = 700

/**
 * A rate in % a year.
 *
 * @param simple the simple rate of a year, as a part of one
 * @throws Error for an APY that is too large for a number
 */
export function percentOfYear(kind: RateKind, simple: Fraction): Fraction {
  return (kind === 'APR' ? simple : compounded(simple)).mul(100)
}

function compounded(simple: Fraction): Fraction {
  if (simple.compare(compoundableMax) > 0) throw new Error('the rate is too high to be compounded')
  const { s, n, d } = simple.div(secondsOfYear)
  const growth = power(precision + (s * n * precision) / d, secondsOfYear)
  return new Fraction(growth - precision, precision)
}

/** Of a number in units of `precision`. */
function power(base: bigint, exponent: bigint): bigint {
  let [result, square] = [precision, base]
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) / precision
    square = (square * square) / precision
  }
  return result
}
