import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import { type MetricList, RunList, runsOf } from '../../../model/metric-list.ts'
import { MetricRun } from '../../../model/metric-run.ts'
import { DamageError } from '../../../sqlite/damage.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { MetricKey } from '../../contract/metrics.ts'
import type { DueWanted } from '../../contract/selections.ts'
import { runMetricsMax, valuesOf } from '../../rows/run-values.ts'
import { stateNumber } from '../../rows/states.ts'
import type { MetricRegistry, NumberSpan } from './metric-registry.ts'
import type { MetricRuns } from './metric-runs.ts'
import type { Tally } from './tally.ts'

/** Position in the due metrics of one protocol; the hour is in hours since 1970. */
interface DueCursor {
  readonly protocol: number
  readonly hour: number
}

/** Numbers of metrics by their hour, in hours since 1970. */
type SpansByHour = ReadonlyMap<number, readonly NumberSpan[]>

/** A range of hours, the direction to read it in, and what to leave out. */
interface HourWalk {
  readonly from: number
  readonly to: number
  readonly first: 'oldest' | 'newest'
  readonly except: SpansByHour
}

/** Dependencies of `DueMetrics`. */
interface DueMetricsDeps {
  readonly registry: MetricRegistry
  readonly runs: MetricRuns
  readonly tally: Tally
}

/**
 * Reads due metrics in the order of delivery. The cost depends on the metrics returned, not on the length of the
 * backlog; only a count reads a small row for each due hour.
 */
export class DueMetrics {
  readonly #registry: MetricRegistry
  readonly #runs: MetricRuns
  readonly #tally: Tally
  readonly #statements

  constructor(database: Sqlite, { registry, runs, tally }: DueMetricsDeps) {
    this.#registry = registry
    this.#runs = runs
    this.#tally = tally
    const counted = 'FROM due_count WHERE protocol = +? AND hour'
    const range = [`${counted} BETWEEN ? AND ? ORDER BY hour`, `LIMIT 1`] as const
    this.#statements = {
      oldest: database.prepare<[number, number, number], number>(`SELECT hour ${range.join(' ')}`).pluck(),
      newest: database.prepare<[number, number, number], number>(`SELECT hour ${range.join(' DESC ')}`).pluck(),
      upTo: database.prepare<[number, number], number>(`SELECT coalesce(sum(metrics), 0) ${counted} <= ?`).pluck(),
    }
  }

  /** Due metrics of some protocols as of one instant: the hours from `newestFirstFrom` on first, then the backlog. */
  read(wanted: DueWanted, limit: number): MetricList {
    return this.#registry.reading(() => this.#read(wanted, limit))
  }

  #read({ protocolIds, newestFirstFrom, latest, except: lists = [] }: DueWanted, limit: number): MetricList {
    const except = this.#spansOf(lists)
    const protocols = this.#withDue(protocolIds)
    const [start, last] = [hourNumber(newestFirstFrom), hourNumber(latest)]
    const found = new FoundRuns(limit)
    this.#walk(protocols, { from: start, to: last, first: 'newest', except }, found)
    const backlog = { from: 0, to: Math.min(start - 1, last), first: 'oldest', except } as const
    this.#walk(protocols, backlog, found)
    return found.list
  }

  /** Those of some metrics that are still due: a person may have dropped one since it was read. */
  still<T extends MetricKey>(metrics: readonly T[]): T[] {
    return this.#registry.reading(() =>
      [...Map.groupBy(metrics, ({ hour }) => hour)].flatMap(([hour, own]) => {
        const numbers = own.map(({ id }) => this.#registry.metric(id)?.number ?? 0)
        const due = this.#runs
          .spans(hourNumber(hour), Math.min(...numbers), Math.max(...numbers))
          .filter(({ state }) => state === stateNumber('due'))
        const isDue = (number: number) => due.some(run => run.first <= number && number < run.first + run.metrics)
        return own.filter((_, index) => isDue(numbers[index] ?? 0))
      }),
    )
  }

  /**
   * Stamp of the due metrics. While it is the same, verdicts of this process alone had changed them when this turn of the
   * event loop began, which saves looking up each metric before it is sent, and reading again what goes first.
   */
  get version(): string {
    return `${this.#registry.version} ${this.#tally.changesOfDue}`
  }

  /** The oldest or newest due hour of some protocols, up to `latest`; `undefined` when none is due. */
  hour(which: 'oldest' | 'newest', protocolIds: readonly string[], latest: Hour): Hour | undefined {
    const walk = { from: 0, to: hourNumber(latest), first: which } as const
    const hour = this.#registry.reading(() => nextHour(this.#heads(this.#withDue(protocolIds), walk), which))
    return hour === undefined ? undefined : hourFromNumber(hour)
  }

  /** Number of due metrics of some protocols at or before an hour. */
  countUpTo(protocolIds: readonly string[], hour: Hour): number {
    const upTo = (protocol: number) => this.#statements.upTo.get(protocol, hourNumber(hour)) ?? 0
    return this.#registry.reading(() => this.#withDue(protocolIds).reduce((sum, protocol) => sum + upTo(protocol), 0))
  }

  #withDue(protocolIds: readonly string[]): number[] {
    return this.#registry.protocolNumbers(protocolIds).filter(protocol => this.#tally.isDue(protocol))
  }

  #walk(protocols: readonly number[], walk: HourWalk, found: FoundRuns): void {
    let heads = found.wanted > 0 ? this.#heads(protocols, walk) : []
    for (;;) {
      const hour = nextHour(heads, walk.first)
      if (hour === undefined) return
      const [here, elsewhere] = partition(heads, head => head.hour === hour)
      for (const { protocol } of here) this.#addHour(found, protocol, hour, walk.except)
      if (found.wanted === 0) return
      const rest = walk.first === 'oldest' ? { ...walk, from: hour + 1 } : { ...walk, to: hour - 1 }
      const moved = this.#heads(
        here.map(({ protocol }) => protocol),
        rest,
      )
      heads = [...elsewhere, ...moved]
    }
  }

  /** Runs of other protocols are not read: those of a protocol lie together, as the numbers of its metrics do. */
  #addHour(found: FoundRuns, protocol: number, hour: number, except: SpansByHour): void {
    for (const span of without(this.#registry.spans(protocol), except.get(hour) ?? [])) {
      if (found.wanted === 0) return
      this.#addSpan(found, hour, span)
    }
  }

  #addSpan(found: FoundRuns, hour: number, { first, last }: NumberSpan): void {
    // As many as there are when each is as long as can be; more at a time when they are not.
    let wanted = Math.ceil(found.wanted / runMetricsMax)
    for (let next = first; found.wanted > 0 && next <= last; wanted *= 2) {
      const runs = this.#runs.due(hour, next, last, wanted)
      for (const [start, metrics, bytes] of runs) {
        if (start + metrics <= next) throw new DamageError('two runs of an hour overlap')
        const run = this.#metricRun(hour, { first: start, last: start + metrics - 1 }, bytes)
        found.add(run.slice(Math.max(0, next - start), last - start + 1))
        next = start + metrics
      }
      if (runs.length < wanted) return
    }
  }

  #metricRun(hour: number, span: NumberSpan, bytes: Buffer): MetricRun {
    // First: a count that is damaged may be any number.
    const values = valuesOf(bytes, span.last - span.first + 1)
    const series = this.#registry.series(span, hour)
    return new MetricRun({
      hour: hourFromNumber(hour),
      protocolId: series[0]?.protocolId ?? '',
      series,
      values,
      place: { store: this.#registry, first: span.first },
    })
  }

  #spansOf(lists: Iterable<MetricList>): SpansByHour {
    const spans = new Map<number, NumberSpan[]>()
    for (const list of lists) {
      for (const run of runsOf(list)) {
        const hour = hourNumber(run.hour)
        const own = spans.get(hour) ?? []
        own.push(...this.#registry.spansOf(run))
        spans.set(hour, own)
      }
    }
    return spans
  }

  #heads(protocols: readonly number[], { from, to, first }: Omit<HourWalk, 'except'>): DueCursor[] {
    return protocols.flatMap(protocol => {
      const hour = this.#statements[first].get(protocol, from, to)
      return hour === undefined ? [] : { protocol, hour }
    })
  }
}

/** Runs that were found, up to a number of metrics. */
class FoundRuns {
  readonly #runs: MetricRun[] = []
  #wanted: number

  /** @param limit of metrics */
  constructor(limit: number) {
    this.#wanted = limit
  }

  /** Number of metrics that may be added. */
  get wanted(): number {
    return this.#wanted
  }

  get list(): MetricList {
    return this.#runs.length === 0 ? [] : new RunList(this.#runs)
  }

  /** Adds a run, or as much of it as is wanted. */
  add(run: MetricRun): void {
    if (this.#wanted === 0) return
    const added = run.slice(0, this.#wanted)
    this.#runs.push(added)
    this.#wanted -= added.length
  }
}

function nextHour(heads: readonly DueCursor[], first: HourWalk['first']): number | undefined {
  const nearer = first === 'oldest' ? Math.min : Math.max
  return heads.map(({ hour }) => hour).reduce<number | undefined>((a, b) => nearer(a ?? b, b), undefined)
}

/** Spans of numbers without some others. */
function without(spans: readonly NumberSpan[], others: readonly NumberSpan[]): readonly NumberSpan[] {
  if (others.length === 0) return spans
  const sorted = others.toSorted((a, b) => a.first - b.first)
  return spans.flatMap(({ first, last }) => {
    const left: NumberSpan[] = []
    let from = first
    for (const other of sorted) {
      if (other.last < from) continue
      if (other.first > last) break
      if (other.first > from) left.push({ first: from, last: other.first - 1 })
      from = other.last + 1
    }
    return from <= last ? [...left, { first: from, last }] : left
  })
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter(one => !isFirst(one))]
}
