import type { MetricState } from '../../contract/metrics.ts'
import { metricStates, stateNumber } from '../../rows/states.ts'
import type { Transaction } from '../connection/transaction.ts'

/** Number that counts delivered metrics whose rows were pruned. */
export const prunedNumber = metricStates.length

/** Numbers that a count is of. */
type CountKey = readonly [protocol: number, stateOrHour: number]

/**
 * Changes of the counts of metrics by protocol and state, and of due ones by their hour, gathered by a transaction that
 * holds the locks of the protocols.
 */
export class TallyChanges {
  readonly #states = new Map<string, readonly [...CountKey, metrics: number]>()
  readonly #due = new Map<string, readonly [...CountKey, metrics: number]>()
  #withdrawn = 0

  /** TallyCounts metrics of an hour that enter a state; a negative number of them leave it. */
  enter(protocol: number, state: MetricState, hour: number, metrics: number): void {
    add(this.#states, [protocol, stateNumber(state)], metrics)
    if (state === 'due') add(this.#due, [protocol, hour], metrics)
  }

  /** TallyCounts metrics of an hour that go from one state to another. */
  move(protocol: number, from: MetricState, to: MetricState, hour: number, metrics: number): void {
    if (from === 'due' && (to === 'held' || to === 'dropped')) this.#withdrawn += metrics
    this.enter(protocol, from, hour, -metrics)
    this.enter(protocol, to, hour, metrics)
  }

  /** TallyCounts delivered or dropped metrics whose rows are deleted. */
  prune(protocol: number, state: 'delivered' | 'dropped', metrics: number): void {
    add(this.#states, [protocol, stateNumber(state)], -metrics)
    if (state === 'delivered') add(this.#states, [protocol, prunedNumber], metrics)
  }

  /** Number of due metrics that were held or dropped without a verdict. */
  get withdrawn(): number {
    return this.#withdrawn
  }

  write(transaction: Transaction): void {
    const [more, fewer] = bySign(this.#states)
    if (more.length > 0) {
      transaction.later(
        `INSERT INTO tidegauge.tally (protocol, state, metrics) SELECT * FROM unnest($1::integer[], $2::smallint[], $3::bigint[])
         ON CONFLICT (protocol, state) DO UPDATE SET metrics = tally.metrics + excluded.metrics`,
        columns(more),
      )
    }
    if (fewer.length > 0) {
      transaction.later(
        `UPDATE tidegauge.tally SET metrics = tally.metrics + change.metrics
         FROM unnest($1::integer[], $2::smallint[], $3::bigint[]) AS change (protocol, state, metrics)
         WHERE tally.protocol = change.protocol AND tally.state = change.state`,
        columns(fewer),
      )
    }
    this.#writeDue(transaction)
  }

  #writeDue(transaction: Transaction): void {
    const [more, fewer] = bySign(this.#due)
    if (more.length > 0) {
      transaction.later(
        `INSERT INTO tidegauge.due_count (protocol, hour, metrics) SELECT * FROM unnest($1::integer[], $2::integer[], $3::integer[])
         ON CONFLICT (protocol, hour) DO UPDATE SET metrics = due_count.metrics + excluded.metrics`,
        columns(more),
      )
    }
    if (fewer.length === 0) return
    // There is no row where none is due; the two parts never meet the same row.
    transaction.later(
      `WITH change AS (SELECT * FROM unnest($1::integer[], $2::integer[], $3::integer[]) AS change (protocol, hour, metrics)),
         gone AS (DELETE FROM tidegauge.due_count USING change
           WHERE due_count.protocol = change.protocol AND due_count.hour = change.hour AND due_count.metrics + change.metrics = 0)
       UPDATE tidegauge.due_count SET metrics = due_count.metrics + change.metrics FROM change
       WHERE due_count.protocol = change.protocol AND due_count.hour = change.hour AND due_count.metrics + change.metrics <> 0`,
      columns(fewer),
    )
  }
}

type TallyCounts = ReadonlyMap<string, readonly [...CountKey, metrics: number]>

function add(counts: Map<string, readonly [...CountKey, metrics: number]>, [a, b]: CountKey, metrics: number): void {
  const key = `${a} ${b}`
  counts.set(key, [a, b, (counts.get(key)?.[2] ?? 0) + metrics])
}

/** Growing and shrinking counts: a check of a row rejects a negative number before it is added to another. */
function bySign(counts: TallyCounts): [more: (readonly number[])[], fewer: (readonly number[])[]] {
  const all = [...counts.values()].toSorted((a, b) => a[0] - b[0] || a[1] - b[1])
  return [all.filter(([, , metrics]) => metrics > 0), all.filter(([, , metrics]) => metrics < 0)]
}

function columns(rows: readonly (readonly number[])[]): (readonly (number | undefined)[])[] {
  return [0, 1, 2].map(place => rows.map(row => row[place]))
}
