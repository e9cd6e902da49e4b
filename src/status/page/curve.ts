/** A value's position in the curve: `x` its index in hours from the left, `y` from 0 (lowest) to 1 (highest). */
export interface CurvePoint {
  readonly x: number
  readonly y: number
}

/** A curve as runs of hours without a hole; a run of one is a point. */
export interface Curve {
  readonly runs: readonly (readonly CurvePoint[])[]
  /** Lowest value. */
  readonly low: number
  /** Highest value. */
  readonly high: number
  /** Number of values. */
  readonly count: number
}

/** @returns `undefined` when there is no value */
export function curveOf(values: readonly (number | null)[]): Curve | undefined {
  const known = values.filter(value => value !== null)
  if (known.length === 0) return undefined
  const low = known.reduce((a, b) => Math.min(a, b))
  const high = known.reduce((a, b) => Math.max(a, b))
  const runs: CurvePoint[][] = []
  values.forEach((value, x) => {
    if (value === null) return
    const point = { x, y: heightOf(value, low, high) }
    const isContinued = x > 0 && values[x - 1] !== null
    const run = isContinued ? runs.at(-1) : undefined
    if (run) run.push(point)
    else runs.push([point])
  })
  return { runs, low, high, count: known.length }
}

/**
 * Relative height of a value. If the span is not finite, values are halved before they are subtracted; always halving
 * would lose the smallest numbers. A flat curve is in the middle.
 */
function heightOf(value: number, low: number, high: number): number {
  if (low === high) return 0.5
  const span = high - low
  return Number.isFinite(span) ? (value - low) / span : (value / 2 - low / 2) / (high / 2 - low / 2)
}
