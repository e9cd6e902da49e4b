import { Fraction } from '../../../collectors/values/fraction.ts'

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

const scaled = (whole: bigint, power: number): Fraction =>
  power < 0 ? new Fraction(whole, 1n << BigInt(-power)) : new Fraction(whole << BigInt(power), 1n)

/** A finite double, exactly: 0.1 is the double next to a tenth. */
export function exactly(double: number): Fraction {
  const { whole, power } = binary(double)
  return scaled(whole, power)
}

/** The exact sum of doubles, which need no common denominator to be found for each. */
export function exactSum(doubles: readonly number[]): Fraction {
  const parts = doubles.map(binary)
  const leastPower = parts.reduce((power, part) => Math.min(power, part.power), 0)
  return scaled(
    parts.reduce((sum, { whole, power }) => sum + (whole << BigInt(power - leastPower)), 0n),
    leastPower,
  )
}

/** Growth in percent. @param then not 0 */
export function growthPercent(then: Fraction, now: Fraction): Fraction {
  return now.sub(then).div(then).mul(100)
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
export function compoundedPercent(then: Fraction, now: Fraction, numerator: bigint, denominator: bigint): Fraction {
  const grown = now.div(then)
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
function kept(mantissa: bigint, power: number): Fraction {
  const lostDigits = absolute(mantissa).toString(2).length - digits
  if (lostDigits <= 0) return scaled(mantissa, power)
  const half = 1n << BigInt(lostDigits - 1)
  return scaled((mantissa + half) >> BigInt(lostDigits), power + lostDigits)
}

/** The natural logarithm of a number above 0, with `places`. */
function logarithm({ n, d }: Fraction): bigint {
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
