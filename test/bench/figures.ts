/** The aim. */
export type Target = { readonly atLeast: number } | { readonly atMost: number }

/** One figure, measured several times. */
export interface Figure {
  readonly what: string
  readonly values: readonly number[]
  /** Written after the number: ` ms`, ` MB`; none for a ratio. */
  readonly unit?: string
  readonly target?: Target
}

/** The middle of some numbers. */
export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN
}

/** Whether a figure is what is aimed at; `undefined` when nothing is. */
export function isMet({ values, target }: Figure): boolean | undefined {
  if (target === undefined) return undefined
  return 'atLeast' in target ? median(values) >= target.atLeast : median(values) <= target.atMost
}

/** Head of the table the rows of figures belong to. */
export const figureHead = '| what | measured | min..max | target | |\n|---|---|---|---|---|'

/** A figure as a row of a table. */
export function figureRow(figure: Figure): string {
  const { what, values, unit = '', target } = figure
  const aim =
    target === undefined ? '' : 'atLeast' in target ? `at least ${target.atLeast}` : `at most ${target.atMost}`
  const met = { true: 'met', false: 'MISSED', undefined: '' }[`${isMet(figure)}`]
  const spread = `${written(Math.min(...values))}..${written(Math.max(...values))}`
  return `| ${what} | ${written(median(values))}${unit} | ${spread} | ${aim} | ${met} |`
}

/** Three digits that say something, whole numbers above. */
function written(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3)
}

/**
 * Runs two things in pairs, each pair in the other order than the one before, after one run of each that does not count.
 *
 * @returns what the two gave, pair by pair
 */
export async function inPairs<T, U>(
  count: number,
  one: () => Promise<T>,
  other: () => Promise<U>,
): Promise<(readonly [T, U])[]> {
  await one()
  await other()
  const pairs: (readonly [T, U])[] = []
  for (let pair = 0; pair < count; pair += 1) {
    if (pair % 2 === 0) {
      const first = await one()
      pairs.push([first, await other()])
    } else {
      const second = await other()
      pairs.push([await one(), second])
    }
  }
  return pairs
}
