import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { MetricKey } from '../../contract/metrics.ts'
import type { DueWanted } from '../../contract/selections.ts'
import { metricAt } from './metric-at.ts'
import type { MetricRegistry, NumberSpan } from './metric-registry.ts'
import type { Tally } from './tally.ts'

/** Position in the due metrics of one protocol; the hour is in hours since 1970. */
interface DueCursor {
  readonly protocol: number
  readonly hour: number
}

/** A range of hours, the direction to read it in, and what to leave out. */
interface HourWalk {
  readonly from: number
  readonly to: number
  readonly first: 'oldest' | 'newest'
  readonly except: DueWanted['except']
}

/**
 * Reads due metrics in the order of delivery. The cost depends on the metrics returned, not on the length of the
 * backlog.
 */
export class DueMetrics {
  readonly #registry: MetricRegistry
  readonly #tally: Tally
  readonly #statements

  constructor(database: Sqlite, registry: MetricRegistry, tally: Tally) {
    this.#registry = registry
    this.#tally = tally
    const counted = 'FROM due_count WHERE protocol = ? AND hour'
    const range = [`${counted} BETWEEN ? AND ? ORDER BY hour`, `LIMIT 1`] as const
    this.#statements = {
      oldest: database.prepare<[number, number, number], number>(`SELECT hour ${range.join(' ')}`).pluck(),
      newest: database.prepare<[number, number, number], number>(`SELECT hour ${range.join(' DESC ')}`).pluck(),
      ofHour: database
        .prepare<[number, number, number, number], [metric: number, value: number]>(
          'SELECT metric, value FROM outbox WHERE hour = ? AND metric BETWEEN ? AND ? AND state = 0 ORDER BY metric LIMIT ?',
        )
        .raw(),
      values: database
        .prepare<[number, number, number], number>(
          'SELECT value FROM outbox WHERE hour = ? AND metric BETWEEN ? AND ? AND state = 0 ORDER BY metric',
        )
        .pluck(),
      still: database
        .prepare<[number, string], number>(
          'SELECT metric FROM outbox WHERE hour = ? AND metric IN (SELECT value FROM json_each(?)) AND state = 0',
        )
        .pluck(),
      after: database.prepare<[number, number], number>(`SELECT coalesce(sum(metrics), 0) ${counted} > ?`).pluck(),
    }
  }

  /** Due metrics of some protocols as of one instant: the hours from `newestFirstFrom` on first, then the backlog. */
  read(wanted: DueWanted, limit: number): Metric[] {
    return this.#registry.reading(() => this.#read(wanted, limit))
  }

  #read({ protocolIds, newestFirstFrom, latest, except }: DueWanted, limit: number): Metric[] {
    const protocols = this.#withDue(protocolIds)
    const [start, last] = [hourNumber(newestFirstFrom), hourNumber(latest)]
    const found = this.#walk(protocols, { from: start, to: last, first: 'newest', except }, limit)
    const backlog = { from: 0, to: Math.min(start - 1, last), first: 'oldest', except } as const
    return [...found, ...this.#walk(protocols, backlog, limit - found.length)]
  }

  /** Those of some metrics that are still due: a person may have dropped one since it was read. */
  still<T extends MetricKey>(metrics: readonly T[]): T[] {
    return this.#registry.reading(() =>
      [...Map.groupBy(metrics, ({ hour }) => hour)].flatMap(([hour, own]) => {
        const numbers = this.#numbersOf(own)
        const due = new Set(this.#statements.still.all(hourNumber(hour), JSON.stringify(numbers)))
        return own.filter((_, index) => due.has(numbers[index] ?? -1))
      }),
    )
  }

  /**
   * Stamp of the due metrics. While it is unchanged, only this process has changed them, which saves looking up each
   * metric before it is sent.
   */
  get version(): string {
    return `${this.#registry.version} ${this.#tally.withdrawals}`
  }

  #numbersOf(metrics: readonly MetricKey[]): (number | undefined)[] {
    return metrics.map(({ id }) => this.#registry.metric(id)?.number)
  }

  /** The oldest or newest due hour of some protocols, up to `latest`; `undefined` when none is due. */
  hour(which: 'oldest' | 'newest', protocolIds: readonly string[], latest: Hour): Hour | undefined {
    const walk = { from: 0, to: hourNumber(latest), first: which } as const
    const hour = this.#registry.reading(() => nextHour(this.#heads(this.#withDue(protocolIds), walk), which))
    return hour === undefined ? undefined : hourFromNumber(hour)
  }

  /** Number of due metrics of some protocols at or before an hour. */
  countUpTo(protocolIds: readonly string[], hour: Hour): number {
    // The total is known, and later ones are few.
    const upTo = (protocol: number) =>
      this.#tally.due(protocol) - (this.#statements.after.get(protocol, hourNumber(hour)) ?? 0)
    return this.#registry.reading(() => this.#withDue(protocolIds).reduce((sum, protocol) => sum + upTo(protocol), 0))
  }

  #withDue(protocolIds: readonly string[]): number[] {
    return this.#registry.protocolNumbers(protocolIds).filter(protocol => this.#tally.due(protocol) > 0)
  }

  #walk(protocols: readonly number[], walk: HourWalk, limit: number): Metric[] {
    const found: Metric[] = []
    let heads = limit > 0 ? this.#heads(protocols, walk) : []
    for (;;) {
      const hour = nextHour(heads, walk.first)
      if (hour === undefined) return found
      const [here, elsewhere] = partition(heads, head => head.hour === hour)
      for (const { protocol } of here) this.#addHour(found, protocol, hour, limit, walk.except)
      if (found.length >= limit) return found
      const rest = walk.first === 'oldest' ? { ...walk, from: hour + 1 } : { ...walk, to: hour - 1 }
      const moved = this.#heads(
        here.map(({ protocol }) => protocol),
        rest,
      )
      heads = [...elsewhere, ...moved]
    }
  }

  /** Rows of other protocols are not read: those of a protocol lie together, as the numbers of its metrics do. */
  #addHour(found: Metric[], protocol: number, hour: number, limit: number, except: DueWanted['except']): void {
    const runs = this.#registry.runs(protocol)
    const ids = except?.idsOf(hourFromNumber(hour))
    for (const { first, last } of ids ? without(runs, this.#numbers(ids)) : runs) {
      if (found.length >= limit) return
      const end = Math.min(last, first + limit - found.length - 1)
      const values = this.#statements.values.all(hour, first, end)
      if (values.length === end - first + 1) {
        for (const [place, value] of values.entries()) {
          found.push(metricAt(this.#registry.numbered(first + place), hour, value))
        }
        continue
      }
      for (const [metric, value] of this.#statements.ofHour.all(hour, first, last, limit - found.length)) {
        found.push(metricAt(this.#registry.numbered(metric), hour, value))
      }
    }
  }

  #numbers(ids: ReadonlySet<string>): number[] {
    return [...ids].flatMap(id => this.#registry.metric(id)?.number ?? [])
  }

  #heads(protocols: readonly number[], { from, to, first }: Omit<HourWalk, 'except'>): DueCursor[] {
    return protocols.flatMap(protocol => {
      const hour = this.#statements[first].get(protocol, from, to)
      return hour === undefined ? [] : { protocol, hour }
    })
  }
}

function nextHour(heads: readonly DueCursor[], first: HourWalk['first']): number | undefined {
  const nearer = first === 'oldest' ? Math.min : Math.max
  return heads.map(({ hour }) => hour).reduce<number | undefined>((a, b) => nearer(a ?? b, b), undefined)
}

/** Runs of numbers without some of the numbers. */
function without(runs: readonly NumberSpan[], numbers: readonly number[]): NumberSpan[] {
  const sorted = numbers.toSorted((a, b) => a - b)
  return runs.flatMap(({ first, last }) => {
    const left: NumberSpan[] = []
    let from = first
    for (const number of sorted) {
      if (number < from || number > last) continue
      if (number > from) left.push({ first: from, last: number - 1 })
      from = number + 1
    }
    return from <= last ? [...left, { first: from, last }] : left
  })
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter(one => !isFirst(one))]
}
