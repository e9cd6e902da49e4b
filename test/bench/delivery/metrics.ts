import { type Hour, hourAfter, parseHour } from '../../../src/model/hour.ts'
import { type Metric, metricId } from '../../../src/model/metric.ts'

/** Metrics one collector gives for one hour: one commit. */
export const metricsAnHour = 1_000

/** Pushes under way at a time: the default of the configuration. */
export const inFlight = 4

/** A protocol of the benchmark and its collector. */
export interface Source {
  readonly protocolId: string
  readonly collector: string
}

export const bench: Source = { protocolId: 'bench', collector: 'bench/values' }
/** Of another destination. */
export const neighbour: Source = { protocolId: 'neighbour', collector: 'neighbour/values' }

const firstHour = parseHour('1990-01-01T00:00:00Z')

/** The hours of the benchmark are counted from one far in the past, and stay there. */
export function hourOf(number: number): Hour {
  return hourAfter(firstHour, number)
}

/** Values of a source for its hour `number`. */
export function metricsOf({ protocolId }: Source, number: number): Metric[] {
  return Array.from({ length: metricsAnHour }, (_, index) => ({
    id: metricId(protocolId, `Label${index}`),
    protocolId,
    hour: hourOf(number),
    value: number / 2 + index / 7,
    unit: 'USD',
  }))
}
