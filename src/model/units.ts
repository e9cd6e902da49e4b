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
