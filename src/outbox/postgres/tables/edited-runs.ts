import { packRuns, type RunColumns, runColumnNames } from '../../rows/run-form.ts'
import { bytesBetween, runDigest, runMetricsMax, valueAt, writeValue } from '../../rows/run-values.ts'
import { consecutive, type NewMetric } from '../../rows/runs-of.ts'
import type { Transaction } from '../connection/transaction.ts'

/** Value and number of the state of a metric. */
export interface StateAndValue {
  readonly value: number
  readonly state: number
}

/** A run as it is stored, or is to be. */
export interface LoadedRun {
  readonly hour: number
  readonly first: number
  readonly protocol: number
  readonly state: number
  readonly collectedMs: number
  readonly deliveredMs: number
  readonly metrics: number
  readonly bytes: Buffer
}

/** A state that metrics get. */
interface StateToBe {
  /** Its number. */
  readonly state: number
  /** When they were delivered, in milliseconds since 1970; absent where they are not delivered now. */
  readonly deliveredMs?: number
}

/** Consecutive metrics of an hour: numbers, both ends included. */
export interface NumbersAtHour {
  readonly hour: number
  readonly from: number
  readonly to: number
}

/** Result of adding metrics to an hour's runs. */
export interface AddedMetrics<T> {
  /** Those that have a value for their hour already. */
  readonly stored: ReadonlySet<T>
  /** Columns of the runs of the others. */
  readonly added: readonly RunColumns[]
  /** Sum of their digests. */
  readonly digest: number
}

/**
 * Runs of metrics that a transaction has loaded, and changes in memory: `write` stores what has changed. No two runs of an
 * hour overlap: a run is added where none is, and later it is only divided. The transaction holds the locks of their
 * protocols, so that the runs are still as loaded when they are written.
 */
export class EditedRuns {
  /** By hour, in the order of their first numbers. */
  readonly #byHour: Map<number, LoadedRun[]>
  readonly #changed = new Map<string, LoadedRun>()

  private constructor(runs: readonly LoadedRun[]) {
    this.#byHour = Map.groupBy(runs, ({ hour }) => hour)
    for (const own of this.#byHour.values()) own.sort((a, b) => a.first - b.first)
  }

  /** Loads the runs that hold any of some metrics. */
  static async loaded(transaction: Transaction, wanted: readonly NumbersAtHour[]): Promise<EditedRuns> {
    if (wanted.length === 0) return new EditedRuns([])
    // A run that begins earlier than this is shorter than the distance.
    const rows = await transaction.query<LoadedRun>(
      `SELECT DISTINCT ON (run.hour, run.first) run.hour, run.first, run.protocol, run.state,
         run.collected_ms AS "collectedMs", run.delivered_ms AS "deliveredMs", run.metrics, run.metric_values AS bytes
       FROM unnest($1::integer[], $2::integer[], $3::integer[]) AS wanted (hour, low, high)
       JOIN tidegauge.outbox AS run ON run.hour = wanted.hour AND run.first > wanted.low - ${runMetricsMax}
         AND run.first <= wanted.high AND run.first + run.metrics > wanted.low
       ORDER BY run.hour, run.first`,
      [wanted.map(({ hour }) => hour), wanted.map(({ from }) => from), wanted.map(({ to }) => to)],
    )
    return new EditedRuns(rows)
  }

  /** Value and state of a metric; `undefined` when it has none at that hour. */
  at(hour: number, number: number): StateAndValue | undefined {
    const run = this.#holding(hour, number)
    return run && { value: valueAt(run.bytes, number - run.first), state: run.state }
  }

  /** Adds the metrics that have no value for their hour yet; of several for the same, the first. */
  add<T extends NewMetric>(metrics: readonly T[]): AddedMetrics<T> {
    const stored = new Set<T>()
    const added: RunColumns[] = []
    for (const some of consecutive(metrics.toSorted((a, b) => a.hour - b.hour || a.number - b.number))) {
      const free = some.filter(metric => {
        const isTaken = this.#holding(metric.hour, metric.number) !== undefined
        if (isTaken) stored.add(metric)
        return !isTaken
      })
      for (const columns of packRuns(free)) {
        added.push(columns)
        this.#put(runOf(columns))
      }
    }
    return { stored, added, digest: added.reduce((sum, row) => (sum + row[7]) >>> 0, 0) }
  }

  /** Moves those of some consecutive metrics of an hour that are in one state to another. @returns how many */
  move({ hour, from, to }: NumbersAtHour, was: number, becomes: StateToBe): number {
    let moved = 0
    for (const run of [...(this.#byHour.get(hour) ?? [])]) {
      const [start, end] = [Math.max(from, run.first), Math.min(to, run.first + run.metrics - 1)]
      if (run.state !== was || start > end) continue
      this.#divide(run, start, end, becomes)
      moved += end - start + 1
    }
    return moved
  }

  /** Gives a stored metric another value and state; no effect on one that is not stored. */
  replace(hour: number, number: number, value: number, state: number): void {
    const before = this.#holding(hour, number)
    if (!before) return
    if (before.state !== state) this.#divide(before, number, number, { state })
    const run = this.#holding(hour, number) ?? before
    // The bytes of a divided run are a part of those that were loaded.
    const bytes = Buffer.from(run.bytes)
    writeValue(bytes, number - run.first, value)
    this.#put({ ...run, bytes })
  }

  /** Stores what has changed. */
  write(transaction: Transaction): void {
    if (this.#changed.size === 0) return
    const rows = [...this.#changed.values()].map(columnsOf).sort((a, b) => a[0] - b[0] || a[1] - b[1])
    transaction.later(
      `INSERT INTO tidegauge.outbox (${runColumnNames})
       SELECT * FROM unnest($1::integer[], $2::integer[], $3::integer[], $4::smallint[], $5::bigint[], $6::bigint[], $7::integer[],
         $8::bigint[], $9::bytea[])
       ON CONFLICT (hour, first) DO UPDATE SET state = excluded.state, delivered_ms = excluded.delivered_ms,
         metrics = excluded.metrics, digest = excluded.digest, metric_values = excluded.metric_values`,
      [0, 1, 2, 3, 4, 5, 6, 7, 8].map(place => rows.map(row => row[place])),
    )
  }

  #holding(hour: number, number: number): LoadedRun | undefined {
    const runs = this.#byHour.get(hour)
    if (!runs) return undefined
    const run = runs[lastAtOrBefore(runs, number)]
    return run && number < run.first + run.metrics ? run : undefined
  }

  #divide(run: LoadedRun, start: number, end: number, becomes: StateToBe): void {
    const [place, last] = [start - run.first, end - run.first]
    if (place > 0) this.#put({ ...run, metrics: place, bytes: bytesBetween(run.bytes, 0, place - 1) })
    const moved = bytesBetween(run.bytes, place, last)
    this.#put({ ...run, ...becomes, first: start, metrics: last - place + 1, bytes: moved })
    if (last === run.metrics - 1) return
    const bytes = bytesBetween(run.bytes, last + 1, run.metrics - 1)
    this.#put({ ...run, first: end + 1, metrics: run.metrics - 1 - last, bytes })
  }

  /** Puts a run in the place of the one that begins with the same number, or between others. */
  #put(run: LoadedRun): void {
    const runs = this.#byHour.get(run.hour) ?? []
    this.#byHour.set(run.hour, runs)
    const before = lastAtOrBefore(runs, run.first)
    const isSame = runs[before]?.first === run.first
    runs.splice(isSame ? before : before + 1, isSame ? 1 : 0, run)
    this.#changed.set(`${run.hour} ${run.first}`, run)
  }
}

/** Place of the last run that begins at or before a number; −1 when there is none. */
function lastAtOrBefore(runs: readonly LoadedRun[], number: number): number {
  let [low, high] = [0, runs.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((runs[middle]?.first ?? 0) <= number) low = middle + 1
    else high = middle
  }
  return low - 1
}

function runOf(row: RunColumns): LoadedRun {
  const [hour, first, protocol, state, collectedMs, deliveredMs, metrics, , bytes] = row
  return { hour, first, protocol, state, collectedMs, deliveredMs, metrics, bytes }
}

function columnsOf(run: LoadedRun): RunColumns {
  const { hour, first, protocol, state, collectedMs, deliveredMs, metrics, bytes } = run
  return [hour, first, protocol, state, collectedMs, deliveredMs, metrics, runDigest(hour, first, bytes), bytes]
}

/** Joins metrics of an hour with consecutive numbers. */
export function numbersAtHours(all: readonly { readonly hour: number; readonly number: number }[]): NumbersAtHour[] {
  const sorted = all.toSorted((a, b) => a.hour - b.hour || a.number - b.number)
  const ranges: { hour: number; from: number; to: number }[] = []
  for (const { hour, number } of sorted) {
    const last = ranges.at(-1)
    if (last?.hour === hour && number <= last.to + 1) last.to = number
    else ranges.push({ hour, from: number, to: number })
  }
  return ranges
}
