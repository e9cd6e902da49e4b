import type { Metric } from './metric.ts'
import { MetricRun } from './metric-run.ts'

/** Metrics in an order. An array is one, and a `RunList`. */
export interface MetricList extends Iterable<Metric> {
  readonly length: number
  /** The metrics from one place on, up to another, both counted from 0. */
  slice(from: number, to?: number): MetricList
  filter(isWanted: (metric: Metric, place: number) => boolean): readonly Metric[]
  map<T>(to: (metric: Metric, place: number) => T): readonly T[]
  some(is: (metric: Metric) => boolean): boolean
  every(is: (metric: Metric) => boolean): boolean
  includes(metric: Metric): boolean
}

/**
 * Metrics as the outbox holds them, in runs; at least one. They become objects when one is looked at. Mostly that never
 * happens: a body, a verdict on all, and the record of it need only the runs. Without objects a push takes 7 % less CPU.
 */
export class RunList implements MetricList {
  readonly runs: readonly MetricRun[]
  readonly length: number
  #objects: readonly Metric[] | undefined

  /** @throws RangeError when there is no run */
  constructor(runs: readonly MetricRun[]) {
    this.runs = runs
    this.length = runs.reduce((sum, run) => sum + run.length, 0)
    if (this.length === 0) throw new RangeError('a list of runs has at least one metric')
  }

  /** The first metric, as that of an array. */
  get 0(): Metric {
    const [run] = this.runs
    // There is one: see the constructor.
    return this.#objects?.[0] ?? (run as MetricRun).metricAt(0)
  }

  /** The same at each look: callers compare them. */
  get #metrics(): readonly Metric[] {
    this.#objects ??= this.runs.flatMap(run => run.series.map((_, at) => run.metricAt(at)))
    return this.#objects
  }

  [Symbol.iterator](): Iterator<Metric> {
    return this.#metrics[Symbol.iterator]()
  }

  slice(from: number, to = this.length): MetricList {
    if (from <= 0 && to >= this.length) return this
    if (from >= to) return []
    const runs: MetricRun[] = []
    let start = 0
    for (const run of this.runs) {
      const end = start + run.length
      if (end > from && start < to) runs.push(run.slice(Math.max(0, from - start), to - start))
      start = end
    }
    return runs.length === 0 ? [] : new RunList(runs)
  }

  filter(isWanted: (metric: Metric, place: number) => boolean): readonly Metric[] {
    return this.#metrics.filter(isWanted)
  }

  map<T>(to: (metric: Metric, place: number) => T): readonly T[] {
    return this.#metrics.map(to)
  }

  some(is: (metric: Metric) => boolean): boolean {
    return this.#metrics.some(is)
  }

  every(is: (metric: Metric) => boolean): boolean {
    return this.#metrics.every(is)
  }

  includes(metric: Metric): boolean {
    return this.#metrics.includes(metric)
  }
}

/** The metrics of a list in runs, in their order. */
export function runsOf(list: MetricList): readonly MetricRun[] {
  return list instanceof RunList ? list.runs : runsOfMetrics([...list])
}

function runsOfMetrics(metrics: readonly Metric[]): MetricRun[] {
  const runs: MetricRun[] = []
  for (let from = 0, to = 1; from < metrics.length; from = to, to += 1) {
    const { hour, protocolId } = metrics[from] as Metric
    const isOfRun = (metric: Metric | undefined) => metric?.hour === hour && metric.protocolId === protocolId
    while (isOfRun(metrics[to])) to += 1
    const series = metrics.slice(from, to)
    runs.push(new MetricRun({ hour, protocolId, series, values: series.map(({ value }) => value) }))
  }
  return runs
}

/** Lists as one. */
export function joined(lists: readonly MetricList[]): MetricList {
  const [only] = lists
  if (only && lists.length === 1) return only
  const runs: MetricRun[] = []
  for (const list of lists) {
    if (!(list instanceof RunList)) return lists.flatMap(some => [...some])
    runs.push(...list.runs)
  }
  return runs.length === 0 ? [] : new RunList(runs)
}
