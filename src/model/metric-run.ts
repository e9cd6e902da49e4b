import type { Hour } from './hour.ts'
import type { Metric, MetricSeries } from './metric.ts'

/** Where a store read a run: it knows the run again, and need not look up each metric. */
export interface RunPlace {
  /** The store that read it. */
  readonly store: object
  /** Its number of the first metric; those of the others follow. */
  readonly first: number
}

/** The parts of a run. */
interface MetricColumns {
  readonly hour: Hour
  /** Protocol of all of them. */
  readonly protocolId: string
  /** Of each metric; at least one. */
  readonly series: readonly MetricSeries[]
  /** Of each metric. */
  readonly values: readonly number[]
  /** Default: they were not read from a store, or not from one place. */
  readonly place?: RunPlace
}

/** Metrics of one protocol and hour, in columns: what is the same every hour, and the values. At least one. */
export class MetricRun implements MetricColumns {
  readonly hour: Hour
  readonly protocolId: string
  readonly series: readonly MetricSeries[]
  readonly values: readonly number[]
  declare readonly place?: RunPlace

  constructor({ hour, protocolId, series, values, place }: MetricColumns) {
    this.hour = hour
    this.protocolId = protocolId
    this.series = series
    this.values = values
    if (place) this.place = place
  }

  /** Number of metrics. */
  get length(): number {
    return this.values.length
  }

  /** An object of a metric. @throws RangeError when there is none at this place */
  metricAt(at: number): Metric {
    const [series, value] = [this.series[at], this.values[at]]
    if (!series || value === undefined) throw new RangeError(`a run of ${this.length} has no metric ${at}`)
    return { ...series, hour: this.hour, value }
  }

  /** The metrics from one place up to another, at least one; the run itself when these are all. */
  slice(from: number, to: number): MetricRun {
    if (from <= 0 && to >= this.length) return this
    const { hour, protocolId, place } = this
    const [series, values] = [this.series.slice(from, to), this.values.slice(from, to)]
    return new MetricRun({
      hour,
      protocolId,
      series,
      values,
      ...(place && { place: { ...place, first: place.first + from } }),
    })
  }
}
