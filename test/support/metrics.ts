import { type Hour, parseHour } from '../../src/model/hour.ts'
import { type Metric, metricId } from '../../src/model/metric.ts'

export const anHour: Hour = parseHour('2026-11-20T13:00:00Z')

/** `count` metrics of one protocol at one hour: `vault___M0`, `vault___M1`, … */
export function metrics(count: number, hour: Hour = anHour, protocolId = 'vault'): Metric[] {
  return Array.from({ length: count }, (_, index) => ({
    id: metricId(protocolId, `M${index}`),
    protocolId,
    hour,
    value: index,
    unit: 'USD',
  }))
}
