import type { DeadOrHeldMetric } from '../../contract/selections.ts'
import type { Transaction } from '../connection/transaction.ts'

/** A row of `detained`: why a metric is dead or held. */
export interface DetainedRow {
  /** In hours since 1970. */
  readonly hour: number
  /** Its number. */
  readonly metric: number
  readonly kind: DeadOrHeldMetric['kind']
  readonly reason: string
  readonly status?: number | undefined
  readonly attempts?: number | undefined
  /** Its own unit, if it is held for that; absent when it has none. */
  readonly unit?: string | undefined
  readonly sinceMs: number
}

interface DetainedChange {
  readonly hour: number
  readonly metric: number
  isRemoved: boolean
  words: string
  row: DetainedRow | undefined
}

/** Changes of the reasons why metrics are dead or held, gathered by a transaction that holds the locks of their protocols. */
export class DetainedChanges {
  readonly #changes = new Map<string, DetainedChange>()

  /** Lists a metric as dead or held; no effect on a listed one. */
  add(row: DetainedRow): void {
    const change = this.#of(row.hour, row.metric)
    change.row ??= row
  }

  /** Adds to the reason of a listed metric. */
  remark(hour: number, metric: number, words: string): void {
    const change = this.#of(hour, metric)
    if (change.row) change.row = { ...change.row, reason: change.row.reason + words }
    else change.words += words
  }

  /** Removes a metric from the list. */
  remove(hour: number, metric: number): void {
    Object.assign(this.#of(hour, metric), { isRemoved: true, words: '', row: undefined })
  }

  write(transaction: Transaction): void {
    const all = [...this.#changes.values()].toSorted((a, b) => a.hour - b.hour || a.metric - b.metric)
    const removed = all.filter(({ isRemoved }) => isRemoved)
    if (removed.length > 0) {
      transaction.later(
        `DELETE FROM tidegauge.detained USING unnest($1::integer[], $2::integer[]) AS gone (hour, metric)
         WHERE detained.hour = gone.hour AND detained.metric = gone.metric`,
        [removed.map(({ hour }) => hour), removed.map(({ metric }) => metric)],
      )
    }
    const remarks = all.filter(({ words }) => words !== '')
    if (remarks.length > 0) {
      transaction.later(
        `UPDATE tidegauge.detained SET reason = detained.reason || more.words
         FROM unnest($1::integer[], $2::integer[], $3::text[]) AS more (hour, metric, words)
         WHERE detained.hour = more.hour AND detained.metric = more.metric`,
        [remarks.map(({ hour }) => hour), remarks.map(({ metric }) => metric), remarks.map(({ words }) => words)],
      )
    }
    insert(
      transaction,
      all.flatMap(({ row }) => row ?? []),
    )
  }

  #of(hour: number, metric: number): DetainedChange {
    const key = `${hour} ${metric}`
    const change = this.#changes.get(key) ?? { hour, metric, isRemoved: false, words: '', row: undefined }
    this.#changes.set(key, change)
    return change
  }
}

function insert(transaction: Transaction, rows: readonly DetainedRow[]): void {
  if (rows.length === 0) return
  transaction.later(
    `INSERT INTO tidegauge.detained (hour, metric, kind, reason, status, attempts, unit, at_ms)
     SELECT * FROM unnest($1::integer[], $2::integer[], $3::text[], $4::text[], $5::integer[], $6::integer[], $7::text[], $8::bigint[])
     ON CONFLICT DO NOTHING`,
    [
      rows.map(({ hour }) => hour),
      rows.map(({ metric }) => metric),
      rows.map(({ kind }) => kind),
      rows.map(({ reason }) => reason),
      rows.map(({ status }) => status ?? null),
      rows.map(({ attempts }) => attempts ?? null),
      rows.map(({ unit }) => unit ?? null),
      rows.map(({ sinceMs }) => sinceMs),
    ],
  )
}
