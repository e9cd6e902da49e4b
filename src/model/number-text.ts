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

/** Formats a change with its sign: +1.5, −0.5, and 0 without one. */
export function signedText(value: number): string {
  return value > 0 ? `+${numberText(value)}` : numberText(value)
}

function plainText(size: number): string {
  const whole = Math.trunc(size)
  const wholeDigits = whole === 0 ? leadingZeros(size) : String(whole).length
  const fractionDigits = Math.max(0, digitsMax - wholeDigits)
  const [before = '', after = ''] = size.toFixed(fractionDigits).split('.')
  const fraction = after.replace(/0+$/, '')
  const grouped = before.replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === '' ? grouped : `${grouped}.${fraction}`
}

/** Zeros between the point and the first digit, as a negative count: they are not significant. */
function leadingZeros(size: number): number {
  return size === 0 ? 0 : Math.floor(Math.log10(size)) + 1
}

function powerText(size: number): string {
  const [digits = '', power = ''] = size.toExponential(digitsMax - 1).split('e')
  const short = digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits
  const raised = power
    .replace('+', '')
    .replace('-', '⁻')
    .replace(/\d/g, digit => superscripts[Number(digit)] ?? '')
  return `${short}\u00a0×\u00a010${raised}`
}
