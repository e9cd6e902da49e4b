import { type Fraction, fractionOf } from '../values/fraction.ts'

/** One column of the row that a query returns. */
export interface RowColumn {
  readonly name: string
  /** Text for all that is neither a number nor NULL. */
  readonly value: bigint | boolean | number | string | null
}

const rowsMeant =
  'must return one row: take one with WHERE, or with ORDER BY and LIMIT 1, or make one of them, as with sum() or count()'

/** Error of a query that did not return one row. */
export function notOneRow(count: 0 | 2): Error {
  return new Error(`the query returns ${count === 0 ? 'no row' : 'several rows'}, and ${rowsMeant}`)
}

/**
 * The number in a column, exactly. Names are compared as SQL does, without regard to case, unless one is written alike.
 *
 * @throws Error when there is no such column, or no number in it
 */
export function numberIn(row: readonly RowColumn[], name: string): Fraction {
  const exact = row.filter(column => column.name === name)
  const alike = exact.length > 0 ? exact : row.filter(column => column.name.toLowerCase() === name.toLowerCase())
  const [column, ...otherColumns] = alike
  if (!column) {
    throw new Error(`the query returns no column "${name}": its columns are ${row.map(each => each.name).join(', ')}`)
  }
  if (otherColumns.length > 0)
    throw new Error(`the query returns ${alike.length} columns "${name}": name them apart, with AS`)
  const { value } = column
  if (value === null)
    throw new Error(`column "${column.name}" is NULL: unknown is not zero; if it is here, say so with coalesce()`)
  if (typeof value === 'boolean') return fractionOf(value ? 1 : 0)
  try {
    return fractionOf(typeof value === 'bigint' ? String(value) : value)
  } catch {
    throw new Error(
      `column "${column.name}" is ${JSON.stringify(String(value).slice(0, 40))}, which is not a number: let the query give one`,
    )
  }
}
