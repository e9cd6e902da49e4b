import { packValues, runDigest, runMetricsMax, valuesIn } from './run-values.ts'
import { type NewMetric, runsOf } from './runs-of.ts'

/** The columns of a row of `outbox`, in their order. */
export type RunColumns = [
  hour: number,
  first: number,
  protocol: number,
  state: number,
  collectedMs: number,
  deliveredMs: number,
  metrics: number,
  digest: number,
  bytes: Buffer,
]

/** The columns of a row of `outbox`, as SQL. */
export const runColumnNames = 'hour, first, protocol, state, collected_ms, delivered_ms, metrics, digest, metric_values'

/** Rows of metrics that are sorted by hour and number. */
export function packRuns(sorted: readonly NewMetric[]): RunColumns[] {
  return runsOf(sorted).flatMap(run => {
    const [first] = run
    if (!first) return []
    const { hour, number, protocol, state, collectedMs, deliveredMs } = first
    const bytes = packValues(run.map(({ value }) => value))
    const digest = runDigest(hour, number, bytes)
    return [[hour, number, protocol, state, collectedMs, deliveredMs, run.length, digest, bytes]]
  })
}

/** The metrics of a row that may be damaged; none when its numbers and values are not those that were stored. */
export function unpackRun(row: readonly unknown[]): NewMetric[] {
  const [hour, first, protocol, state, collectedMs, deliveredMs, metrics, digest, content] = row
  if (!isNumber(hour) || !isNumber(first) || !isNumber(protocol) || !isNumber(state)) return []
  if (!isNumber(collectedMs) || !isNumber(deliveredMs)) return []
  if (!(content instanceof Uint8Array) || valuesIn(content) !== metrics || metrics > runMetricsMax) return []
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  if (runDigest(hour, first, bytes) !== digest) return []
  return Array.from({ length: metrics }, (_, place) => {
    const value = bytes.readDoubleLE(8 * place)
    return { hour, number: first + place, protocol, state, collectedMs, deliveredMs, value }
  })
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}
