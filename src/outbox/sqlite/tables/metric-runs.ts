import type { Sqlite } from '../../../sqlite/database.ts'
import { packRuns, type RunColumns, runColumnNames } from '../../rows/run-form.ts'
import { bytesBetween, runDigest, runMetricsMax, valueAt, valuesIn, writeValue } from '../../rows/run-values.ts'
import { consecutive, type NewMetric } from '../../rows/runs-of.ts'
import type { NumberSpan } from './metric-registry.ts'

/** Metrics of one protocol, hour and state whose numbers are consecutive: a row of `outbox`, without its values. */
export interface RunSpan {
  readonly first: number
  readonly metrics: number
  readonly protocol: number
  readonly state: number
}

/** Due metrics of one hour with consecutive numbers, and the bytes of their values. */
export type DueMetricRun = readonly [first: number, metrics: number, bytes: Buffer]

/** A run and its hour, in hours since 1970. */
export interface RunOfHour extends RunSpan {
  readonly hour: number
}

/** Result of inserting metrics. */
export interface InsertedMetrics<T> {
  /** Those that have a value for their hour already. */
  readonly stored: readonly T[]
  /** The runs of the others. */
  readonly added: readonly RunOfHour[]
  /** Sum of their digests. */
  readonly digest: number
}

/** An instant that a column gets; `null` where it stays. */
type MaybeMs = number | null

/** A state that metrics get. */
interface NextState {
  /** Its number. */
  readonly state: number
  /** When they were delivered, in milliseconds since 1970; absent where they are not delivered now. */
  readonly deliveredMs?: MaybeMs
}

type RawRun = readonly [first: number, metrics: number, state: number, bytes: Buffer]

/** Value and number of the state of a stored metric. */
export interface ValueInState {
  readonly value: number
  readonly state: number
}

/**
 * The rows of `outbox`, each a run of metrics. Only this class writes them. No two runs of an hour overlap: a run is
 * inserted where none is, and later it is only divided, or deleted whole. Every write belongs into a transaction that
 * began as a writing one, since what it does depends on the rows that it finds.
 */
export class MetricRuns {
  readonly #statements

  constructor(database: Sqlite) {
    const becoming = 'state = ?, delivered_ms = coalesce(?, delivered_ms)'
    const byKey = 'WHERE hour = ? AND first = ?'
    // The run that a number is in, if there is one, is the last that begins at or before it.
    const holding = `WHERE hour = +? AND first <= ? AND first + metrics > ?
      AND first >= coalesce((SELECT max(first) FROM outbox WHERE hour = +? AND first <= ?), 0)`
    this.#statements = {
      at: database
        .prepare<[number, number, number, number], RawRun>(
          `SELECT first, metrics, state, metric_values FROM outbox
           WHERE hour = +? AND first = (SELECT max(first) FROM outbox WHERE hour = +? AND first <= ?) AND first + metrics > ?`,
        )
        .raw(),
      spans: database.prepare<[number, number, number, number, number], RunSpan>(
        `SELECT first, metrics, protocol, state FROM outbox ${holding} ORDER BY first`,
      ),
      due: database
        .prepare<[number, number, number, number, number, number], DueMetricRun>(
          `SELECT first, metrics, metric_values FROM outbox ${holding} AND state = 0 ORDER BY first LIMIT +?`,
        )
        .raw(),
      bytes: database.prepare<[number, number], Buffer>(`SELECT metric_values FROM outbox ${byKey}`).pluck(),
      insert: database.prepare<RunColumns>(`INSERT INTO outbox (${runColumnNames}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`),
      // A part of a run that is stored.
      part: database.prepare<[number, number, MaybeMs, number, number, Buffer, number, number]>(
        `INSERT INTO outbox (${runColumnNames})
         SELECT hour, ?, protocol, ?, collected_ms, coalesce(?, delivered_ms), ?, ?, ? FROM outbox ${byKey}`,
      ),
      change: database.prepare<[number, MaybeMs, number, number, Buffer, number, number]>(
        `UPDATE outbox SET ${becoming}, metrics = ?, digest = ?, metric_values = ? ${byKey}`,
      ),
      moveOne: database.prepare<[number, MaybeMs, number, number, number, number]>(
        `UPDATE outbox SET ${becoming} ${byKey} AND metrics = ? AND state = ?`,
      ),
      moveAll: database.prepare<[number, MaybeMs, number, number, number, number]>(
        `UPDATE outbox SET ${becoming} WHERE hour = ? AND first BETWEEN ? AND ? AND state = ?`,
      ),
      old: database.prepare<[number, number], RunOfHour>(
        `SELECT hour, first, metrics, protocol, state FROM outbox WHERE hour < ? AND state IN (1, 4)
         ORDER BY hour, first LIMIT +?`,
      ),
      remove: database.prepare<[number, number]>(`DELETE FROM outbox ${byKey}`),
    }
  }

  /** Value and state of a metric; `undefined` when it has none at that hour. */
  at(hour: number, number: number): ValueInState | undefined {
    return storedIn(this.#run(hour, number), number)
  }

  /** As `at`, for many metrics within one transaction: neighbours are read together. */
  looking(): (hour: number, number: number) => ValueInState | undefined {
    const latest = new Map<number, RawRun>()
    return (hour, number) => {
      const known = storedIn(latest.get(hour), number)
      if (known) return known
      const run = this.#run(hour, number)
      if (run) latest.set(hour, run)
      return storedIn(run, number)
    }
  }

  #run(hour: number, number: number): RawRun | undefined {
    return this.#statements.at.get(hour, hour, number, number)
  }

  /** The runs of an hour that hold any of some consecutive numbers, in their order. */
  spans(hour: number, from: number, to: number): RunSpan[] {
    return this.#statements.spans.all(hour, to, from, hour, from)
  }

  /** As `spans`, of due metrics, with their values. @param limit of runs read */
  due(hour: number, from: number, to: number, limit: number): DueMetricRun[] {
    return this.#statements.due.all(hour, to, from, hour, from, limit)
  }

  /** Stores the metrics that have no value for their hour yet; of several for the same, the first. */
  insert<T extends NewMetric>(metrics: readonly T[]): InsertedMetrics<T> {
    const [stored, added]: [T[], RunOfHour[]] = [[], []]
    let sum = 0
    for (const some of consecutive(metrics.toSorted((a, b) => a.hour - b.hour || a.number - b.number))) {
      const [first, last] = [some[0], some.at(-1)]
      if (!first || !last) continue
      const taken = this.spans(first.hour, first.number, last.number)
      const isTaken = ({ number }: T) => taken.some(run => run.first <= number && number < run.first + run.metrics)
      const free = taken.length === 0 ? some : some.filter(one => !isTaken(one))
      if (free.length < some.length) stored.push(...some.filter(isTaken))
      for (const row of packRuns(free)) {
        this.#statements.insert.run(...row)
        const [hour, start, protocol, state, , , count, digest] = row
        added.push({ hour, first: start, metrics: count, protocol, state })
        sum = (sum + digest) >>> 0
      }
    }
    return { stored, added, digest: sum }
  }

  /** Moves those of some consecutive metrics of an hour that are in one state to another. @returns how many */
  move(hour: number, from: number, to: number, was: number, becomes: NextState): number {
    const asked = to - from + 1
    const { moveOne, moveAll } = this.#statements
    const { state: next, deliveredMs = null } = becomes
    if (asked <= runMetricsMax && moveOne.run(next, deliveredMs, hour, from, asked, was).changes > 0) return asked
    const runs = this.spans(hour, from, to).filter(({ state }) => state === was)
    const whole = runs.filter(({ first, metrics }) => first >= from && first + metrics - 1 <= to)
    const [first, last] = [whole[0], whole.at(-1)]
    if (first && last) moveAll.run(next, deliveredMs, hour, first.first, last.first, was)
    let moved = 0
    for (const run of runs) {
      const [start, end] = [Math.max(from, run.first), Math.min(to, run.first + run.metrics - 1)]
      if (end - start + 1 < run.metrics) this.#divide(hour, run, start, end, becomes)
      moved += end - start + 1
    }
    return moved
  }

  /** Gives a stored metric another value and state; no effect on one that is not stored. */
  replace(hour: number, number: number, value: number, state: number): void {
    const [run] = this.spans(hour, number, number)
    if (!run) return
    if (run.metrics > 1 && run.state !== state) this.#divide(hour, run, number, number, { state })
    const first = run.state === state ? run.first : number
    const bytes = this.#bytes(hour, first)
    writeValue(bytes, number - first, value)
    this.#change(hour, first, { state }, bytes)
  }

  /**
   * Deletes delivered and dropped runs before an hour, the oldest first. A trigger deletes what else there is about their
   * metrics.
   *
   * @param limit of metrics, which the last run may exceed
   */
  deleteOld(before: number, limit: number): RunOfHour[] {
    const deleted: RunOfHour[] = []
    let metrics = 0
    for (const run of this.#statements.old.all(before, limit)) {
      if (metrics >= limit) break
      this.#statements.remove.run(run.hour, run.first)
      deleted.push(run)
      metrics += run.metrics
    }
    return deleted
  }

  /** Moves some of a run's metrics to another state. First its row is shortened to those before, so that no two overlap. */
  #divide(hour: number, run: RunSpan, start: number, end: number, next: NextState): void {
    const bytes = this.#bytes(hour, run.first)
    const [place, last] = [start - run.first, end - run.first]
    const moved = bytesBetween(bytes, place, last)
    const rest = bytesBetween(bytes, last + 1, run.metrics - 1)
    this.#change(hour, run.first, run, place === 0 ? moved : bytesBetween(bytes, 0, place - 1))
    // The rest copies the run's instants, so it is added before they change.
    if (rest.length > 0) this.#addPart(hour, run, end + 1, run, rest)
    if (place === 0) this.#change(hour, run.first, next, moved)
    else this.#addPart(hour, run, start, next, moved)
  }

  #bytes(hour: number, first: number): Buffer {
    return this.#statements.bytes.get(hour, first) ?? Buffer.alloc(0)
  }

  #addPart(hour: number, { first: of }: RunSpan, first: number, next: NextState, bytes: Buffer): void {
    const digest = runDigest(hour, first, bytes)
    this.#statements.part.run(first, next.state, next.deliveredMs ?? null, valuesIn(bytes), digest, bytes, hour, of)
  }

  #change(hour: number, first: number, { state, deliveredMs = null }: NextState, bytes: Buffer): void {
    const digest = runDigest(hour, first, bytes)
    this.#statements.change.run(state, deliveredMs, valuesIn(bytes), digest, bytes, hour, first)
  }
}

/** Numbers of a run's metrics. */
export function spanOf({ first, metrics }: Pick<RunSpan, 'first' | 'metrics'>): NumberSpan {
  return { first, last: first + metrics - 1 }
}

function storedIn(run: RawRun | undefined, number: number): ValueInState | undefined {
  if (!run) return undefined
  const [first, metrics, state, bytes] = run
  return number >= first && number < first + metrics ? { value: valueAt(bytes, number - first), state } : undefined
}
