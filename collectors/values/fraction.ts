import Fraction from 'fraction.js'

export { Fraction }

/** A decimal number as text; an exponent has at most three digits. */
export const decimalNumber = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i

/**
 * A decimal number as it is written, exactly: 0.1 is a tenth, and not the double next to it.
 *
 * @throws RangeError for what is no decimal number
 */
export function fractionOf(decimal: number | string): Fraction {
  const [, sign, whole, part = '', exponent = '0'] = decimalNumber.exec(String(decimal)) ?? []
  if (whole === undefined) throw new RangeError(`${decimal} is no decimal number`)
  const digits = BigInt(`${sign}${whole}${part}`)
  const places = part.length - Number(exponent)
  return places > 0 ? new Fraction(digits, 10n ** BigInt(places)) : new Fraction(digits * 10n ** BigInt(-places), 1n)
}

/** An amount in smallest units: `scaled(1_500_000n, 6)` is 1.5. */
export function scaled(amount: bigint, decimals: number): Fraction {
  return new Fraction(amount, 10n ** BigInt(decimals))
}

/** The exact sum; 0 of none. */
export function total(parts: readonly Fraction[]): Fraction {
  return parts.reduce((sum, each) => sum.add(each), new Fraction(0))
}

const mantissaBits = 53
/** The smallest double is 2 to the power of minus this. */
const finestBits = 1_074

/** The double nearest to a fraction, the even one of two; infinite when it is too large for a double. */
export function nearestNumber({ s, n, d }: Pick<Fraction, 's' | 'n' | 'd'>): number {
  if (n === 0n) return 0
  // So many bits that what is dropped of the quotient is never just the bit that decides.
  const shift = mantissaBits + 3 - (bitsOf(n) - bitsOf(d))
  const [over, under] = shift > 0 ? [n << BigInt(shift), d] : [n, d << BigInt(-shift)]
  const quotient = over / under
  const isExact = quotient * under === over
  const lostBits = BigInt(Math.max(bitsOf(quotient) - mantissaBits, shift - finestBits))
  const mantissa = quotient >> lostBits
  const rest = quotient - (mantissa << lostBits)
  const half = 1n << (lostBits - 1n)
  const isUp = rest > half || (rest === half && (!isExact || (mantissa & 1n) === 1n))
  return Number(s) * Number(mantissa + (isUp ? 1n : 0n)) * 2 ** (Number(lostBits) - shift)
}

function bitsOf(natural: bigint): number {
  return natural.toString(2).length
}
