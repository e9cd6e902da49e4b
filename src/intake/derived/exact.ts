import { nearestNumber } from '../../../collectors/values/fraction.ts'

/** A rational number. It need not be reduced; the denominator is above 0. */
export interface Rational {
  readonly n: bigint
  readonly d: bigint
}

/** The double nearest to a rational number, the even one of two; infinite when it is too large. */
export function nearestTo({ n, d }: Rational): number {
  return nearestNumber({ s: n < 0n ? -1n : 1n, n: absolute(n), d })
}

const absolute = (whole: bigint) => (whole < 0n ? -whole : whole)

const bytes = new DataView(new ArrayBuffer(8))

/** A double as `whole` times 2 to the power of `power`. */
function binary(double: number): { readonly whole: bigint; readonly power: number } {
  bytes.setFloat64(0, double)
  const high = bytes.getUint32(0)
  const exponent = (high >>> 20) & 0x7ff
  const fraction = (BigInt(high & 0xfffff) << 32n) | BigInt(bytes.getUint32(4))
  const natural = exponent === 0 ? fraction : fraction | (1n << 52n)
  return { whole: double < 0 ? -natural : natural, power: Math.max(exponent, 1) - 1_075 }
}

const scaled = (whole: bigint, power: number): Rational =>
  power < 0 ? { n: whole, d: 1n << BigInt(-power) } : { n: whole << BigInt(power), d: 1n }

/** A finite double, exactly: 0.1 is the double next to a tenth. */
export function exactly(double: number): Rational {
  const { whole, power } = binary(double)
  return scaled(whole, power)
}

/** The exact sum of doubles, which need no common denominator to be found for each. */
export function exactSum(doubles: readonly number[]): Rational {
  const parts = doubles.map(binary)
  const least = parts.reduce((power, part) => Math.min(power, part.power), 0)
  return scaled(
    parts.reduce((sum, { whole, power }) => sum + (whole << BigInt(power - least)), 0n),
    least,
  )
}

/** Operations on rational numbers. */
export const operations = {
  sum: (a: Rational, b: Rational): Rational => ({ n: a.n * b.d + b.n * a.d, d: a.d * b.d }),
  difference: (a: Rational, b: Rational): Rational => ({ n: a.n * b.d - b.n * a.d, d: a.d * b.d }),
  product: (a: Rational, b: Rational): Rational => ({ n: a.n * b.n, d: a.d * b.d }),
  /** @param b not 0 */
  ratio: (a: Rational, b: Rational): Rational => {
    const sign = b.n < 0n ? -1n : 1n
    return { n: sign * a.n * b.d, d: sign * a.d * b.n }
  },
}

/** Growth in percent. @param then not 0 */
export function growthPercent(then: Rational, now: Rational): Rational {
  return operations.product(operations.ratio(operations.difference(now, then), then), { n: 100n, d: 1n })
}

/** Binary places of what has no exact value as a fraction. A double has 53, and growth near 0 loses 60 more. */
const places = 320n
/** Binary digits of it that are right, and are kept: a growth that is a fraction of few digits is exactly that again. */
const digits = 200

/**
 * Growth in percent to the power of a fraction: `now / then` to `numerator / denominator`, less 1.
 *
 * @param then above 0
 * @param now above 0
 */
export function compoundedPercent(then: Rational, now: Rational, numerator: bigint, denominator: bigint): Rational {
  const grown = operations.ratio(now, then)
  const exponent = (logarithm(grown) * numerator) / denominator
  const doublings = exponent / ln2() - (exponent < 0n ? 1n : 0n)
  // Beyond any double, or 0 next to 1.
  const power = Number(doublings > 2_000n ? 2_000n : doublings < -2_000n ? -2_000n : doublings)
  const mantissa = exponential(exponent - doublings * ln2())
  const one = 1n << places
  const [from, less] = power < 0 ? [mantissa, one << BigInt(-power)] : [mantissa << BigInt(power), one]
  return kept(100n * (from - less), Math.min(power, 0) - Number(places))
}

/** A number with so many of its binary digits. */
function kept(whole: bigint, power: number): Rational {
  const dropped = absolute(whole).toString(2).length - digits
  if (dropped <= 0) return scaled(whole, power)
  const half = 1n << BigInt(dropped - 1)
  return scaled((whole + half) >> BigInt(dropped), power + dropped)
}

/** The natural logarithm of a number above 0, with `places`. */
function logarithm({ n, d }: Rational): bigint {
  const doublings = n.toString(2).length - d.toString(2).length
  const mantissa = doublings < 0 ? (n << (places + BigInt(-doublings))) / d : (n << places) / (d << BigInt(doublings))
  const one = 1n << places
  return areaTangent(((mantissa - one) << places) / (mantissa + one)) + BigInt(doublings) * ln2()
}

let knownLn2: bigint | undefined

/** The logarithm of 2, with `places`. */
function ln2(): bigint {
  knownLn2 ??= areaTangent((1n << places) / 3n)
  return knownLn2
}

/** Twice the inverse hyperbolic tangent of a number between -1/2 and 1/2, with `places`: the logarithm of (1 + x) / (1 - x). */
function areaTangent(x: bigint): bigint {
  const square = (x * x) >> places
  let sum = 0n
  for (let [term, odd] = [2n * x, 1n]; absolute(term) > 1n; term = (term * square) >> places, odd += 2n)
    sum += term / odd
  return sum
}

/** e to the power of a number from 0 to 1, with `places`. */
function exponential(x: bigint): bigint {
  let sum = 0n
  for (let [term, place] = [1n << places, 1n]; term > 0n; term = ((term * x) >> places) / place, place += 1n)
    sum += term
  return sum
}
