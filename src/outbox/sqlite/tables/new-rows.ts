import type { Sqlite } from '../../../sqlite/database.ts'

/** A row to be inserted into `outbox`. */
export interface NewRow {
  /** In hours since 1970. */
  readonly hour: number
  /** Number of the metric. */
  readonly number: number
  /** Number of its protocol. */
  readonly protocol: number
  /** Number of its state. */
  readonly state: number
  readonly value: number
}

/** Rows that one statement inserts: the largest that fits is used. The last is 1. */
const sizes = [64, 8, 1] as const

/** Inserts rows, many with one statement: half the time of a statement for each. */
export class NewRows {
  readonly #inserts
  readonly #present

  constructor(database: Sqlite) {
    this.#inserts = sizes.map(size => {
      const rows = Array.from({ length: size }, () => '(?, ?, ?, ?, ?)').join(', ')
      const sql = `INSERT INTO outbox (hour, metric, protocol, state, value) VALUES ${rows}`
      return { size, insert: database.prepare<number[]>(sql) }
    })
    this.#present = database
      .prepare<[number, number, number], number>('SELECT metric FROM outbox WHERE hour = ? AND metric BETWEEN ? AND ?')
      .pluck()
  }

  /**
   * Inserts the rows whose metric and hour have no row yet; of several for the same, the first. Within a transaction.
   *
   * @returns the others
   */
  insert<T extends NewRow>(rows: readonly T[]): T[] {
    const sorted = rows.toSorted((a, b) => a.hour - b.hour || a.number - b.number)
    return runsOf(sorted).flatMap(run => this.#insertRun(run))
  }

  #insertRun<T extends NewRow>(run: readonly T[]): T[] {
    const [first, last] = [run[0], run.at(-1)]
    if (!first || !last) return []
    const present = new Set(this.#present.all(first.hour, first.number, last.number))
    if (present.size === 0) {
      this.#insertAll(run)
      return []
    }
    this.#insertAll(run.filter(({ number }) => !present.has(number)))
    return run.filter(({ number }) => present.has(number))
  }

  #insertAll(rows: readonly NewRow[]): void {
    let from = 0
    for (const { size, insert } of this.#inserts) {
      for (; rows.length - from >= size; from += size) {
        const bound: number[] = []
        for (let at = from; at < from + size; at += 1) {
          const row = rows[at]
          if (row) bound.push(row.hour, row.number, row.protocol, row.state, row.value)
        }
        insert.run(...bound)
      }
    }
  }
}

/** Splits sorted rows into those of one hour with consecutive numbers, none twice: mostly all that a collector gives. */
function runsOf<T extends NewRow>(sorted: readonly T[]): T[][] {
  const runs: T[][] = []
  let [before, run]: [T | undefined, T[]] = [undefined, []]
  for (const row of sorted) {
    if (before?.hour !== row.hour || before.number + 1 !== row.number) {
      run = []
      runs.push(run)
    }
    run.push(row)
    before = row
  }
  return runs
}
