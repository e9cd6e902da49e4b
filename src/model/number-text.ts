import { withoutEnd } from './text.ts'

/** Significant digits shown; digits before the decimal point are always shown in full. */
const digitsMax = 6

/** From this size on, and below the other limit, a power of ten is easier to read than a row of zeros. */
const plainBelow = 1e15
const plainFrom = 1e-6

const minus = '\u2212'
const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹'

/**
 * Formats a value for a person: grouped by thousands, about six significant digits, no trailing zeros, a true minus
 * sign. `12345678.9` is 12,345,679, `0.000012` is 0.000012, `1.5e-9` is 1.5 × 10⁻⁹.
 *
 * @param value finite
 */
export function numberText(value: number): string {
  const size = Math.abs(value)
  const text = size !== 0 && (size < plainFrom || size >= plainBelow) ? powerText(size) : plainText(size)
  return value < 0 ? minus + text : text
}

/** Formats a value for a person with all its digits, as `String` does, and with the same minus sign as `numberText`. */
export function exactText(value: number): string {
  return String(value).replaceAll('-', minus)
}

/** Formats a change with its sign: +1.5, −0.5, and 0 without one. */
export function signedText(value: number): string {
  return value > 0 ? `+${numberText(value)}` : numberText(value)
}

function plainText(size: number): string {
  const whole = Math.trunc(size)
  const wholeDigits = whole === 0 ? leadingZeros(size) : String(whole).length
  const fractionDigits = Math.max(0, digitsMax - wholeDigits)
  const [before = '', after = ''] = size.toFixed(fractionDigits).split('.')
  const fraction = withoutEnd(after, '0')
  const grouped = inThousands(before)
  return fraction === '' ? grouped : `${grouped}.${fraction}`
}

/** Zeros between the point and the first digit, as a negative count: they are not significant. */
function leadingZeros(size: number): number {
  return size === 0 ? 0 : Math.floor(Math.log10(size)) + 1
}

function powerText(size: number): string {
  const [digits = '', power = ''] = size.toExponential(digitsMax - 1).split('e')
  const short = digits.includes('.') ? withoutEnd(withoutEnd(digits, '0'), '.') : digits
  const exponent = power
    .replace('+', '')
    .replace('-', '⁻')
    .replace(/\d/g, digit => superscripts[Number(digit)] ?? '')
  return `${short}\u00a0×\u00a010${exponent}`
}

/**
 * Converts an amount in smallest units to a decimal number, rounded once to the nearest double (the service stores
 * doubles): `units(1_500_000n, 6)` is 1.5.
 *
 * @param decimals from 0 to 255, as a token's `decimals()` answers; a bigint where the ABI says `uint256`
 * @throws TypeError when the amount is not a bigint; RangeError for other decimals
 */
export function units(amount: bigint, decimals: number | bigint): number {
  if (typeof amount !== 'bigint') {
    throw new TypeError(`units(amount, decimals): the amount must be a bigint like 1500000n, not ${literal(amount)}`)
  }
  const places = typeof decimals === 'bigint' ? Number(decimals) : decimals
  if (!Number.isInteger(places) || places < 0 || places > 255) {
    const wrong = `the decimals must be a whole number from 0 to 255, not ${literal(decimals)}`
    throw new RangeError(`units(amount, decimals): ${wrong}`)
  }
  const digits = (amount < 0n ? -amount : amount).toString().padStart(places + 1, '0')
  const point = digits.length - places
  return Number(`${amount < 0n ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`)
}

/** A short value as it is written in code; of any other, its type. */
function literal(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? 'text' : JSON.stringify(value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}

/** Digits of a whole number in groups: `1,234,567`. By hand: `toLocaleString` loads the rules of all languages. */
export function inThousands(digits: string): string {
  const groups: string[] = []
  for (let end = digits.length; end > 0; end -= 3) groups.unshift(digits.slice(Math.max(0, end - 3), end))
  return groups.join(',')
}
