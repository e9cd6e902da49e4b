const unit = 10n ** 90n
const secondsOfYear = 31_536_000n

/**
 * A yearly rate that is compounded each second, in %: by the series of the logarithm and of the exponential function in
 * whole numbers, which is another way than to multiply.
 *
 * @param simple the simple rate of a year, in units of `one`
 */
export function compoundedPercent(simple: bigint, one: bigint): number {
  const growth = exponential(secondsOfYear * logarithm((simple * unit) / (one * secondsOfYear)))
  return Number(`${(growth - unit) * 100n}e-90`)
}

/** Of 1 + x, for a small x. */
function logarithm(x: bigint): bigint {
  let [sum, power] = [0n, x]
  for (let count = 1n; power !== 0n; count += 1n) {
    sum += count % 2n === 1n ? power / count : -power / count
    power = (power * x) / unit
  }
  return sum
}

function exponential(x: bigint): bigint {
  let [sum, term] = [0n, unit]
  for (let count = 1n; term !== 0n; count += 1n) {
    sum += term
    term = (term * x) / unit / count
  }
  return sum
}
