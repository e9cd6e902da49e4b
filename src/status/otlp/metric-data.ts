import type { DataPoint, Histogram, MetricData } from '@opentelemetry/sdk-metrics'
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics'
import { jsonOf } from '../../model/json.ts'
import type { Family, Labels, MetricSample } from '../exposition/families.ts'

/** Seconds and nanoseconds, as the SDK has an instant. */
type HrInstant = [seconds: number, nanoseconds: number]

/** Instants of data points. */
export interface Instants {
  /** Start of all counters. */
  readonly start: HrInstant
  readonly now: HrInstant
}

/** An instant of the SDK. @param ms milliseconds since 1970 */
export function instantOf(ms: number): HrInstant {
  return [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)]
}

/**
 * Families in the form of OpenTelemetry's SDK, under the same names and labels: gauges, monotonic sums and histograms. A
 * summary, which has no quantiles here, is a histogram of one bucket. A value that is not a number is left out. Pure.
 */
export function metricDataOf(families: readonly Family[], instants: Instants): MetricData[] {
  return families.flatMap(family => {
    const samples = family.samples.filter(([, value]) => !Number.isNaN(value))
    return samples.length > 0 ? [oneOf({ ...family, samples }, instants)] : []
  })
}

function oneOf({ name, type, help, samples }: Family, instants: Instants): MetricData {
  const common = {
    // 1 is DOUBLE; the enum is the API's, which nothing else here needs.
    descriptor: { name, description: help, unit: unitOf(name), valueType: 1 },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  if (type === 'summary' || type === 'histogram') {
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histogramsOf(samples, instants) }
  }
  const dataPoints = samples.map(([labels, value]) => point(labels, value, instants))
  if (type === 'gauge') return { ...common, dataPointType: DataPointType.GAUGE, dataPoints }
  return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
}

function point<T>(attributes: Labels, value: T, { start, now }: Instants): DataPoint<T> {
  return { startTime: start, endTime: now, attributes: { ...attributes }, value }
}

/** Samples with the same labels but `le` are one histogram; its buckets count what the smaller ones do not. */
function histogramsOf(samples: readonly MetricSample[], instants: Instants): DataPoint<Histogram>[] {
  const groups = Map.groupBy(samples, ([{ le, ...labels }]) => JSON.stringify(labels))
  return [...groups].map(([text, group]) => {
    const summed = (suffix: string) => group.find(([, , end]) => end === suffix)?.[1] ?? 0
    const count = summed('_count')
    const bounded = group
      .filter(([labels, , suffix]) => suffix === '_bucket' && Number.isFinite(Number(labels['le'])))
      .map(([labels, value]) => ({ bound: Number(labels['le']), value }))
      .sort((a, b) => a.bound - b.bound)
    const below = [...bounded.map(({ value }) => value), count]
    const counts = below.map((value, index) => value - (below[index - 1] ?? 0))
    const buckets = { boundaries: bounded.map(({ bound }) => bound), counts }
    return point(jsonOf(text) as Labels, { buckets, sum: summed('_sum'), count }, instants)
  })
}

/** The unit by UCUM that the name ends with; none where it ends with no unit. */
function unitOf(name: string): string {
  const [, unit] = /_(seconds|bytes)(?:_total)?$/.exec(name) ?? []
  return unit === 'seconds' ? 's' : unit === 'bytes' ? 'By' : ''
}
